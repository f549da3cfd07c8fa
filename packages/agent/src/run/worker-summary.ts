import type { Summariser } from "@bonsai-agent/compaction";
import { addUsage } from "@bonsai-agent/messages";
import { type CatalogueModel, referenceOf } from "@bonsai-agent/models";
import type { Session } from "@bonsai-agent/session";

export interface WorkerChoice {
  /** True if the settings want workers. */
  isWanted: () => boolean;
  /** Called for each summary that this host makes because no worker did. */
  onNoWorker: () => void;
}

interface WorkersFirstOptions extends WorkerChoice {
  session: Session;
  model: () => CatalogueModel;
}

/**
 * Asks the workers of a shared session for the summaries of its compactions. `here` makes the others: those that no worker
 * makes, and those that continue this host's cached request.
 */
export function workersFirst(
  here: Summariser["summarise"],
  { session, model, isWanted, onNoWorker }: WorkersFirstOptions,
): Summariser["summarise"] {
  return async (request) => {
    const { kind, prompt, maxSummaryTokens, way, signal } = request;
    const { drafts } = session.store;
    if (drafts === undefined || !isWanted() || kind === "branch" || way === "cached") return here(request);
    const draft = await drafts.ask({ model: referenceOf(model()), kind, prompt, maxSummaryTokens }, signal);
    signal.throwIfAborted();
    if (draft?.stopReason === "stop") return draft;
    onNoWorker();
    const answer = await here(request);
    if (draft?.usage === undefined || answer.usage === undefined) return answer;
    return { ...answer, usage: addUsage(draft.usage, answer.usage) };
  };
}
