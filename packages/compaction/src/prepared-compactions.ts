import type { Message } from "@bonsai-agent/messages";
import type { CompactionPreparation } from "./events.ts";
import type { LadderContext, LadderState } from "./rung.ts";

/** What a preparation is the public side of. */
export interface PreparedCompaction {
  state: LadderState;
  context: LadderContext;
}

/** By the list of messages: it is the same one in whatever copy of the event a handler gets. */
const prepared = new WeakMap<readonly Message[], PreparedCompaction>();

/** Remembers, for as long as somebody holds the preparation, what it was made of. */
export function rememberPrepared<Preparation extends CompactionPreparation>(
  preparation: Preparation,
  source: PreparedCompaction,
): Preparation {
  prepared.set(preparation.messagesToSummarize, source);
  return preparation;
}

export function preparedCompaction(preparation: CompactionPreparation): PreparedCompaction | undefined {
  return prepared.get(preparation.messagesToSummarize);
}
