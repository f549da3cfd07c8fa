import { readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/** The git branch of a folder, or the first digits of the commit where none is checked out; git itself is not run. */
export function gitBranch(folder: string): string | undefined {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const head = headOf(at);
    if (head !== undefined) return branchOf(head);
    if (dirname(at) === at) return undefined;
  }
}

function headOf(folder: string): string | undefined {
  const inside = textOf(join(folder, ".git", "HEAD"));
  if (inside !== undefined) return inside;
  // In a worktree or submodule, .git is a file that tells where its folder is.
  const gitFolder = /^gitdir: (.+)$/m.exec(textOf(join(folder, ".git")) ?? "")?.[1];
  return gitFolder === undefined ? undefined : textOf(join(resolve(folder, gitFolder.trim()), "HEAD"));
}

function branchOf(head: string): string | undefined {
  const branch = /^ref: (?:refs\/heads\/)?(.+)$/m.exec(head)?.[1]?.trim();
  // Its references are in a table, and this stands in HEAD for those who do not know of it.
  if (branch === ".invalid") return undefined;
  return branch ?? /^[0-9a-f]{7}/.exec(head)?.[0];
}

/** What cannot be read is not there: the footer has better things to show than why. */
function textOf(file: string): string | undefined {
  try {
    // To read from a pipe would wait for somebody to write.
    return statSync(file).isFile() ? readFileSync(file, "utf8") : undefined;
  } catch {
    return undefined;
  }
}
