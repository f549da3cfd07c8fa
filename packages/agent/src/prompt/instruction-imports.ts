import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";

/** At the beginning of a word, as Claude Code has it: an `@` inside one belongs to an address. */
const mention = /(?<=^|[\s(])@([^\s"'`<>()[\]{}]+)/gm;
const code = /^(?:```|~~~)[^\n]*\n[\s\S]*?(?:^(?:```|~~~)[ \t]*$|(?![\s\S]))|(`+)(?!`)[^\n]*?[^`\n]\1(?!`)/gm;

/** The files that a text names with `@`, in order, each once; not those in code. They need not be there. */
export function importsIn(text: string, path: string): string[] {
  const named = [...text.replaceAll(code, "").matchAll(mention)].map(([, name = ""]) =>
    name.replace(/[.,;:!?]+$/, ""),
  );
  const paths = named
    .filter((name) => name !== "")
    .map((name) => {
      return name.startsWith("~/") ? join(homedir(), name.slice(2)) : resolve(dirname(path), name);
    });
  return [...new Set(paths)];
}
