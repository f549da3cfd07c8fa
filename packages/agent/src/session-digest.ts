import type { Message } from "@bonsai-agent/messages";
import type { CatalogueModel, ModelClient } from "@bonsai-agent/models";
import type { Session } from "@bonsai-agent/session";

export interface SessionDigestsOptions {
  session: Session;
  models: ModelClient;
  /** Who writes the summary; without one, it is made of the request and the last answer. */
  smallModel?: CatalogueModel | undefined;
}

/** Keeps what the session list shows: a short summary, and the files that were changed. */
export class SessionDigests {
  constructor(_options: SessionDigestsOptions) {}

  /** To be called at the end of each run with the messages that it added. Returns at once, and never throws. */
  runEnded(_messages: readonly Message[]): void {}

  /** To be called before the session is closed: ends a request that is under way. Never rejects. */
  async close(): Promise<void> {}
}
