import { BonsaiError, type ImageContent } from "@bonsai-agent/messages";
import type { AgentCall } from "../invocation.ts";
import { mentionedFiles } from "./file-mentions.ts";
import { readPipedText } from "./piped-text.ts";

/** What is sent to the model first. */
export interface PromptInput {
  text: string;
  images: readonly ImageContent[];
}

/**
 * The prompt of a call: its words, the files that they name with `@`, and what was piped in. Undefined where there is
 * nothing of all that.
 * @throws BonsaiError `file_not_found`, `file_not_text`, `file_too_large`, `input_not_text`, `input_too_large`.
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
  return typed === "" ? piped.trim() : `<stdin>\n${piped.trimEnd()}\n</stdin>`;
}

/** @throws BonsaiError `no_prompt`. */
export async function requiredPrompt(call: AgentCall): Promise<PromptInput> {
  const input = await promptInput(call);
  if (input !== undefined) return input;
  throw new BonsaiError({
    code: "no_prompt",
    message: "There is nothing to do: no prompt was given, and nothing was piped in.",
    hint: 'Say what to do, like `bonsai -p "fix the failing test"`.',
  });
}
