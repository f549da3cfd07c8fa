/** Texts in quotes stay, so that what looks like a comment in them does; comments go. */
const quotedOrComment =
  /("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;
const imported = /\b(?:from|import|require)\s*(?:\(\s*)?["']([^"'\n]+)["']/g;
/** In the types of plain JavaScript, which stand in comments. */
const importedInComment = /\{[^}\n]*\bimport\(["']([^"'\n]+)["']\)|@import\b[^\n]*["']([^"'\n]+)["']/g;

/** A function whose first parameter is `pi`, perhaps handed to another. */
const takesPi = String.raw`\s*(?:[\w$.]+\(\s*)?(?:async\b\s*)?(?:function\b[^(]*\(\s*pi\b|\(\s*pi\s*[:,)=]|pi\s*=>)`;
const exported = String.raw`(?:\bexport\s+default\b|\bmodule\.exports\s*=|\bexports\.default\s*=)`;
const exportsOneThatTakesPi = new RegExp(exported + takesPi);
const exportsName = new RegExp(
  String.raw`${exported}\s*([\w$]+)\s*(?:;|$)|\bexport\s*\{[^}]*?([\w$]+)\s+as\s+default\b`,
  "m",
);

/** What can be told of a module by its text, without knowing its grammar. */
export interface ModuleText {
  /** What it imports, also for types alone. */
  imports: string[];
  /** True where what it exports calls its first argument `pi`. */
  takesPi: boolean;
}

export function readModule(text: string): ModuleText {
  const code = text.replaceAll(quotedOrComment, "$1");
  const found = [...code.matchAll(imported), ...text.matchAll(importedInComment)];
  return {
    imports: found.map(([, name, inComment]) => name ?? inComment!),
    takesPi: exportsOneThatTakesPi.test(code) || isNamedOneThatTakesPi(code),
  };
}

function isNamedOneThatTakesPi(code: string): boolean {
  const match = exportsName.exec(code);
  const name = match?.[1] ?? match?.[2];
  if (name === undefined) return false;
  const escaped = name.replaceAll("$", "\\$");
  const declared = String.raw`\bfunction\s+${escaped}\b[^(]*\(\s*pi\b|\b(?:const|let|var)\s+${escaped}\b[^=]*=${takesPi}`;
  return new RegExp(declared).test(code);
}
