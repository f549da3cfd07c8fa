import type { Workplace } from "../workplace.ts";
import type { PromptInput, QueuedInput } from "./prompt-input.ts";

/** What extensions made of a text; undefined when one took it. */
export async function hearInput<Input extends PromptInput | QueuedInput>(
  { events }: Workplace,
  input: Input,
  signal: AbortSignal,
): Promise<Input | undefined> {
  if (!events.hasHandlers("input")) return input;
  const { text, images, source } = input;
  const event = {
    type: "input" as const,
    text,
    source,
    ...(images === undefined ? {} : { images: [...images] }),
    ...("behavior" in input ? { streamingBehavior: input.behavior } : {}),
  };
  const { result, payload } = await events.decide("input", event, signal);
  if (signal.aborted) return input;
  return result?.action === "handled" ? undefined : { ...input, text: payload.text, images: payload.images };
}
