import type { AssistantMessage, Message } from "@bonsai-agent/messages";
import type { CatalogueModel, ModelRequest } from "@bonsai-agent/models";
import type { Session } from "@bonsai-agent/session";

/** A request whose beginning the provider has in its cache. */
export interface WarmRequest {
  /** As it was sent. */
  request: ModelRequest;
  answer: AssistantMessage;
  /** What the context holds beyond the request's messages, the answer first. */
  later: readonly Message[];
}

/** Providers keep a prefix for five minutes after its last use. */
const WARM_MS = 5 * 60_000;

/**
 * Owner of the latest turn request that was answered well: what the provider's cache holds. Invariant: a warm request
 * goes on with the very messages that were sent.
 */
export class CachedPrefix {
  #latest: { request: ModelRequest; answer: AssistantMessage; atMs: number } | undefined;

  /** To be called after each good answer of a turn, with the request as it was given to the model client. */
  answered(latest: { request: ModelRequest; answer: AssistantMessage; atMs: number }): void {
    this.#latest = latest;
  }

  /**
   * The latest request, where its prefix is still in the provider's cache: the same model, the last good answer at most
   * five minutes old and with cache reads or writes, and the context has only grown since.
   */
  warm(now: { session: Session; model: CatalogueModel; atMs: number }): WarmRequest | undefined {
    const latest = this.#latest;
    if (latest === undefined) return undefined;
    const { request, answer, atMs } = latest;
    const { provider, id } = request.model;
    const { cacheRead, cacheWrite } = answer.usage;
    if (provider !== now.model.provider || id !== now.model.id) return undefined;
    if (now.atMs - atMs > WARM_MS || cacheRead + cacheWrite === 0) return undefined;
    const later = laterMessages(request.messages, now.session);
    return later === undefined ? undefined : { request, answer, later };
  }
}

/** Undefined unless the context begins with the messages as they were sent, unchanged, and goes on with the answer. */
function laterMessages(sent: readonly Message[], session: Session): Message[] | undefined {
  const { items } = session.projection();
  if (items.length <= sent.length) return undefined;
  if (sent.some((message, at) => items[at]?.message !== message)) return undefined;
  const later = items.slice(sent.length).map(({ message }) => message);
  return later[0]?.role === "assistant" ? later : undefined;
}
