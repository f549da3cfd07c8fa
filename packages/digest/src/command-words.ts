import type { SimpleCommand } from "./shell.ts";

/** A command as written, without what stood around it. */
export function textOf({ raws }: SimpleCommand): string {
  return raws.join(" ");
}

/** The name of the program, without its folder and ending. */
export function programOf({ words }: SimpleCommand): string {
  return baseName(words[0] ?? "");
}

export function baseName(path: string): string {
  return path
    .slice(path.lastIndexOf("/") + 1)
    .replace(/\.(?:[cm]?[jt]s|py|sh|rb|php|pl|exe|cmd|bat|ps1)$/i, "");
}

/** The words within a name, in small letters: `db:migrate`, `delete-stack`, `publishToMavenLocal`. */
export function partsOf(name: string): string[] {
  return name
    .slice(0, 80)
    .replace(/([a-z\d])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z\d]+/)
    .filter((part) => part !== "");
}

const VALUED =
  /^(?:-[CfnRwcFHeposit]|--(?:prefix|filter|cwd|dir|profile|region|context|namespace|project|config|file|repo|workspace|app|env-file|kubeconfig|output|org|team|scope|package|stack|hostname|kube-context|subscription|resource-group|schema|database|url|endpoint-url))$/;

/** The first 30 words behind the program that are no option, no value of one and no quoted text. */
export function operandsOf({ words, raws }: SimpleCommand): string[] {
  const operands: string[] = [];
  for (let at = 1; at < words.length && operands.length < 30; at++) {
    const word = words[at]!;
    if (!word.startsWith("-")) {
      if (!isQuoted(raws[at]!)) operands.push(word);
    } else if (VALUED.test(word) && at + 2 < words.length && !words[at + 1]!.startsWith("-")) at++;
  }
  return operands;
}

/** True for text: no verb is looked for in it. */
function isQuoted(raw: string): boolean {
  return /["'`$]/.test(raw) && /\s/.test(raw);
}

/** True where the option stands anywhere; a short one may be one letter of several. */
export function hasOption({ words }: SimpleCommand, option: string): boolean {
  if (option.startsWith("--")) return words.some((word) => word === option || word.startsWith(`${option}=`));
  return words.some((word) => /^-[A-Za-z]+$/.test(word) && word.includes(option[1]!));
}
