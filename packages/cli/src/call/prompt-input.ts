import { isUtf8 } from "node:buffer";
import { readFileSync, statSync } from "node:fs";
import type { openAgent } from "@bonsai-agent/agent";
import { BonsaiError, type ImageContent } from "@bonsai-agent/messages";
import { escapeTag } from "@bonsai-agent/messages/host";
import { wrongUsage } from "./failure.ts";
import { mentionedFiles } from "./file-mentions.ts";
import type { AgentCall, Call } from "./invocation.ts";
import { absolutePath } from "./paths.ts";

export interface PromptInput {
  text: string;
  images: readonly ImageContent[];
}

/**
 * The prompt of a call: its words, the files that it mentions, and the piped text.
 * @throws BonsaiError `file_not_found`, `file_not_text`, `file_too_large`, `input_not_text`, `input_too_large`
 */
export async function promptInput(call: AgentCall): Promise<PromptInput | undefined> {
  const { words, io } = call;
  const typed = words.join(" ").trim();
  const { quotes, images } = mentionedFiles(words, io);
  const piped = await readPipedText(call);
  const parts = [typed, ...quotes, pipedPart(piped, typed)].filter((part) => part !== "");
  if (parts.length === 0) return undefined;
  return { text: parts.join("\n\n"), images };
}

function pipedPart(piped: string, typed: string): string {
  if (piped.trim() === "") return "";
  return typed === "" ? piped.trim() : `<stdin>\n${escapeTag(piped.trimEnd(), "stdin")}\n</stdin>`;
}

/** @throws BonsaiError `no_prompt`. */
export async function requiredPrompt(call: AgentCall): Promise<PromptInput> {
  const input = await promptInput(call);
  if (input !== undefined) return input;
  throw new BonsaiError({
    code: "no_prompt",
    message: "No prompt: neither the command line nor stdin has one.",
    hint: 'Write one, like `bonsai -p "fix the failing test"`.',
  });
}

/** About a million tokens. */
const MAX_PIPED_BYTES = 4_000_000;
/** An open pipe without a writer looks like a hanging program. */
const noticeAfterMs = 3_000;

async function readPipedText({ io, output }: AgentCall): Promise<string> {
  const { stdin } = io;
  if (stdin === undefined || stdin.isTTY) return "";
  const timer = setTimeout(
    () =>
      output.notify({
        code: "waiting_for_input",
        message: "Waiting for the end of stdin. If you have no input, start with `</dev/null`.",
      }),
    noticeAfterMs,
  );
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const part of stdin) {
      clearTimeout(timer);
      bytes += parts[parts.push(Buffer.from(part as Uint8Array)) - 1]!.length;
      if (bytes > MAX_PIPED_BYTES) throw tooLarge();
    }
  } finally {
    clearTimeout(timer);
  }
  const all = Buffer.concat(parts);
  if (!isUtf8(all) || all.includes(0)) throw notText();
  return all.toString("utf8");
}

function tooLarge(): BonsaiError {
  return new BonsaiError({
    code: "input_too_large",
    message: `The piped input is larger than ${MAX_PIPED_BYTES / 1_000_000} MB, which no model accepts in one message.`,
    hint: "Write it to a file and name the file in the prompt. The model reads the parts it needs.",
  });
}

function notText(): BonsaiError {
  return new BonsaiError({
    code: "input_not_text",
    message: "The piped input is not UTF-8 text.",
    hint: "Pipe text, or name the file in the prompt. The model can read it with its tools.",
  });
}

export function refuseWords({ words, options: { mode } }: Pick<AgentCall, "words" | "options">): void {
  if (words.length === 0) return;
  throw wrongUsage(
    `--mode ${mode} takes prompts on stdin, not on the command line.`,
    mode === "acp" ? "Send session/prompt." : 'Send a line like {"type":"prompt","message":"…"}.',
  );
}

type GivenPrompt = Parameters<typeof openAgent>[0]["givenPrompt"];

/**
 * The texts of `--system-prompt` and `--append-system-prompt`. Each takes a text or a file.
 * @throws BonsaiError `wrong_usage` for a missing or unreadable file
 */
export function givenPrompt({ options, io }: Pick<Call, "options" | "io">): GivenPrompt {
  const { systemPrompt: replaced, appendSystemPrompt: appended } = options;
  if (replaced === undefined && appended === undefined) return undefined;
  return {
    ...(typeof replaced === "string" && { replaced: flagText("--system-prompt", replaced, io.cwd) }),
    ...(Array.isArray(appended) && {
      appended: appended.map((each: string) => flagText("--append-system-prompt", each, io.cwd)),
    }),
  };
}

/** A word that must be a path. */
const onlyPath = /^(\.{1,2}|~)?\/\S+$|^\S+\.(md|txt)$/i;

function flagText(flag: string, value: string, cwd: string): string {
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
  const message = `Cannot read ${flag} ${JSON.stringify(value)}: ${why}.`;
  return wrongUsage(message, "Give a readable file, or the text itself.", cause);
}
