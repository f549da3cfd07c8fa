import { BonsaiError } from "@bonsai-agent/messages";

/** A handler or a tool that is waited for must not wait for those who wait for it. */
export function waitsForItself(call: "reload" | "waitForIdle"): BonsaiError {
  return new BonsaiError({
    code: "extension_waits_for_itself",
    message: `${call} was called in a handler or a tool whose end it would wait for.`,
    hint: "Call it in a command, or in a timer that fires once the handler or the tool has ended.",
  });
}
