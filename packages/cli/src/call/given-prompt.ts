import { readFileSync, statSync } from "node:fs";
import type { openAgent } from "@bonsai-agent/agent";
import { BonsaiError } from "@bonsai-agent/messages";
import type { AgentCall } from "./invocation.ts";
import { absolutePath } from "./paths.ts";

type GivenPrompt = Parameters<typeof openAgent>[0]["givenPrompt"];

/**
 * The texts of `--system-prompt` and `--append-system-prompt`. Each takes a text or a file.
 * @throws BonsaiError `wrong_usage` for a missing or unreadable file
 */
export function givenPrompt({ options, io }: Pick<AgentCall, "options" | "io">): GivenPrompt {
  const { systemPrompt: replaced, appendSystemPrompt: appended } = options;
  if (replaced === undefined && appended === undefined) return undefined;
  return {
    ...(typeof replaced === "string" && { replaced: textOf("--system-prompt", replaced, io.cwd) }),
    ...(Array.isArray(appended) && {
      appended: appended.map((each: string) => textOf("--append-system-prompt", each, io.cwd)),
    }),
  };
}

/** A word that must be a path. */
const onlyPath = /^(\.{1,2}|~)?\/\S+$|^\S+\.(md|txt)$/i;

function textOf(flag: string, value: string, cwd: string): string {
  const path = absolutePath(value, cwd);
  let why = "the file does not exist";
  try {
    const found = value === "" ? undefined : statSync(path);
    // The shell makes a pipe of <(command).
    if (found?.isFile() || found?.isFIFO()) return readFileSync(path, "utf8");
    if (found !== undefined) why = found.isDirectory() ? "it is a folder" : "it is not a file";
  } catch (cause) {
    const { code = "", message } = cause as NodeJS.ErrnoException;
    // A text can be too long for a path.
    if (!["ENOENT", "ENOTDIR", "ENAMETOOLONG"].includes(code)) throw unread(flag, value, message, cause);
  }
  if (onlyPath.test(value)) throw unread(flag, value, why);
  return value;
}

function unread(flag: string, value: string, why: string, cause?: unknown): BonsaiError {
  return new BonsaiError({
    code: "wrong_usage",
    message: `Cannot read ${flag} ${JSON.stringify(value)}: ${why}.`,
    hint: "Give a readable file, or the text itself.",
    ...(cause !== undefined && { cause }),
  });
}
