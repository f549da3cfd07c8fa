import type { Lifecycle } from "@bonsai-agent/lifecycle";
import type { CatalogueModel, ModelClient } from "@bonsai-agent/models";
import type { Session } from "@bonsai-agent/session";
import type { LifecycleEvents } from "./lifecycle-events.ts";

export interface SessionTitlesOptions {
  session: Session;
  lifecycle: Lifecycle<LifecycleEvents>;
  models: ModelClient;
  /** Who finds the title; without one, it is made of the first request. */
  smallModel?: CatalogueModel | undefined;
}

/** Names a session after its first exchange, unless somebody has named it. */
export class SessionTitles {
  constructor(_options: SessionTitlesOptions) {}

  /** To be called after each run that ended with an answer. Returns at once, and never throws. */
  exchangeEnded(): void {}

  /** To be called before the session is closed: ends a request that is under way. Never rejects. */
  async close(): Promise<void> {}
}
