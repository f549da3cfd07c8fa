import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import type { FindProblem } from "@bonsai-agent/extension";

/** What keeps a module from being read; undefined where it can be. Nothing of it is run. */
export function syntaxProblem(path: string): FindProblem | undefined {
  try {
    const source = readFileSync(path, "utf8");
    if (/\.m?[jt]s$/.test(path)) withoutWarnings(() => stripTypeScriptTypes(source));
    return undefined;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    // An enum and its kind are rewritten when the module is loaded.
    if (code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX") return undefined;
    const isSyntax = code === "ERR_INVALID_TYPESCRIPT_SYNTAX";
    return {
      path,
      message: isSyntax ? `It is no valid module: ${message}.` : `It cannot be read: ${message}.`,
      hint: `Mend it, or take it away. \`bonsai -e '${path}' --no-session\` names the line.`,
    };
  }
}

/** Node calls the function experimental, which is nothing that a user could mend. */
function withoutWarnings(work: () => void): void {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    work();
  } finally {
    process.emitWarning = emitWarning;
  }
}
