const envelope = /^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$/gm;
const unified = /^(?:---|\+\+\+) (?:[ab]\/)?([^\t\n]+)/gm;

/** The files that a patch names: the `*** Update File:` form, or a unified diff. */
export function patchedFiles(text: string): string[] {
  if (text.includes("*** Begin Patch") || text.startsWith("*** "))
    return [...text.matchAll(envelope)].map((match) => (match[1] ?? match[2] ?? "").trim());
  if (!/^--- .+\n\+\+\+ /m.test(text)) return [];
  return [...text.matchAll(unified)].map((match) => match[1]!.trim()).filter((file) => file !== "/dev/null");
}

/**
 * The files that a shell command plainly writes with `>` or `>>`. Anything that would need a shell to be
 * understood (variables, quotes, substitutions, here-documents' bodies) is left out: rather no file than a wrong one.
 */
export function redirectedFiles(command: string): string[] {
  const plain = command.includes("<<") ? (command.split("\n")[0] ?? "") : command;
  // One that is not closed takes the rest, as in a shell; so nothing is looked at twice.
  const unquoted = plain.replaceAll(/'[^']*'|"(?:\\[\s\S]|[^"\\])*(?:["\\]|$)/g, "''");
  return [...unquoted.matchAll(/(?:^|[^0-9&>=-])1?>>?\s*([\w./~-]+)/g)]
    .map((match) => match[1]!)
    .filter((file) => !file.startsWith("/dev/") && /[\w]/.test(file));
}
