import { BonsaiError } from "@bonsai-agent/messages";
import { messageSchema } from "@bonsai-agent/messages/schemas";
import type { CustomInput } from "./custom-input.ts";

/**
 * The message as it would be read back, a copy: it may wait, and whoever sent it may go on with the object.
 * @throws BonsaiError `custom_message_invalid`.
 */
export function checkedMessage(message: CustomInput): CustomInput {
  const { customType, content, display, details } = (message ?? {}) as Partial<CustomInput>;
  const given = { customType, content, display, ...(details === undefined ? {} : { details }) };
  const copy = readBack(given);
  const checked = messageSchema.safeParse({ role: "custom", timestamp: 0, ...copy });
  if (checked.success) return copy;
  const { path = [], message: problem = "" } = checked.error.issues[0] ?? {};
  throw invalid(`${path.join(".") || "it"}: ${problem}`);
}

function readBack(given: object): CustomInput {
  try {
    return JSON.parse(JSON.stringify(given)) as CustomInput;
  } catch (cause) {
    if (cause instanceof RangeError) throw invalid("it is nested too deep", cause);
    throw invalid(cause instanceof Error ? cause.message : String(cause), cause);
  }
}

function invalid(problem: string, cause?: unknown): BonsaiError {
  return new BonsaiError({
    code: "custom_message_invalid",
    message: `A message that an extension sent cannot be stored: ${problem}`,
    hint: "Send {customType, content, display, details?}: content is a text or a list of text and image blocks, and all of it can be written as JSON.",
    ...(cause === undefined ? {} : { cause }),
  });
}
