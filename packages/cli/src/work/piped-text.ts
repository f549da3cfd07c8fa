import { isUtf8 } from "node:buffer";
import { BonsaiError } from "@bonsai-agent/messages";
import type { AgentCall } from "../invocation.ts";
import type { Notice } from "../output.ts";

/** About a million tokens; no model takes more. */
const mostBytes = 4_000_000;
/** A pipe that nobody writes to and nobody closes looks like a program that hangs. */
const patienceMs = 3_000;

/**
 * What was piped into the process, up to its end; empty where nothing was.
 * @throws BonsaiError `input_too_large`, `input_not_text`.
 */
export async function readPipedText({ io, output }: AgentCall): Promise<string> {
  const { stdin } = io;
  if (stdin === undefined || stdin.isTTY) return "";
  const timer = setTimeout(() => {
    output.notify(waiting);
  }, patienceMs);
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
  message: "Waiting for the end of standard input. Without input, start with `</dev/null`.",
};

function tooLarge(): BonsaiError {
  return new BonsaiError({
    code: "input_too_large",
    message: `More than ${mostBytes / 1_000_000} MB were piped in; no model takes that in one message.`,
    hint: "Write it to a file and name the file: the model reads what it needs of it.",
  });
}

function notText(): BonsaiError {
  return new BonsaiError({
    code: "input_not_text",
    message: "What was piped in is no UTF-8 text.",
    hint: "Pipe text in, or name the file in the prompt: the model has tools to look at it.",
  });
}
