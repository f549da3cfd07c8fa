import { isUtf8 } from "node:buffer";
import { BonsaiError, type ImageContent } from "@bonsai-agent/messages";
import { escapeTag } from "@bonsai-agent/messages/host";
import { wrongUsage } from "./failure.ts";
import { mentionedFiles } from "./file-mentions.ts";
import type { AgentCall } from "./invocation.ts";
import type { Notice } from "./output.ts";

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
const mostBytes = 4_000_000;
/** An open pipe without a writer looks like a hanging program. */
const noticeAfterMs = 3_000;

async function readPipedText({ io, output }: AgentCall): Promise<string> {
  const { stdin } = io;
  if (stdin === undefined || stdin.isTTY) return "";
  const timer = setTimeout(() => {
    output.notify(waiting);
  }, noticeAfterMs);
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const part of stdin) {
      clearTimeout(timer);
      bytes += parts[parts.push(Buffer.from(part as Uint8Array)) - 1]!.length;
      if (bytes > mostBytes) throw tooLarge();
    }
  } finally {
    clearTimeout(timer);
  }
  const all = Buffer.concat(parts);
  if (!isUtf8(all) || all.includes(0)) throw notText();
  return all.toString("utf8");
}

const waiting: Notice = {
  code: "waiting_for_input",
  message: "Waiting for the end of stdin. If you have no input, start with `</dev/null`.",
};

function tooLarge(): BonsaiError {
  return new BonsaiError({
    code: "input_too_large",
    message: `The piped input is larger than ${mostBytes / 1_000_000} MB, which no model accepts in one message.`,
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

export function refuseWords({ words }: Pick<AgentCall, "words">): void {
  const message = "--mode rpc takes prompts on stdin, not on the command line.";
  if (words.length > 0) throw wrongUsage(message, 'Send a line like {"type":"prompt","message":"…"}.');
}
