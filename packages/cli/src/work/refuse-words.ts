import { BonsaiError } from "@bonsai-agent/messages";
import type { AgentCall } from "../invocation.ts";

/** @throws BonsaiError `wrong_usage` for words on the command line where prompts come as lines */
export function refuseWords({ words }: Pick<AgentCall, "words">): void {
  if (words.length === 0) return;
  throw new BonsaiError({
    code: "wrong_usage",
    message: "With --mode rpc, prompts come on standard input, not on the command line.",
    hint: 'Send {"type":"prompt","message":"…"} as a line.',
  });
}
