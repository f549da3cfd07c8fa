import { setImmediate as turn } from "node:timers/promises";
import { digestSummariser, type Summariser } from "@bonsai-agent/compaction";

/**
 * The built-in digest. It works in one go, in which no signal reaches the process: a turn of the event loop before
 * and after lets a Ctrl-C be heard while there is still nothing written.
 */
export function interruptibleDigest(): Summariser {
  const digest = digestSummariser();
  return {
    ...digest,
    async summarise(request) {
      await turn();
      const answer = await digest.summarise(request);
      await turn();
      return answer;
    },
  };
}
