import type { Session } from "@bonsai-agent/session";
import { type ChatPath, chatPath, oldestHeldId } from "./chat-path.ts";

/** What of a session is shown. Owner of where the history of each begins that is shown without reading the file. */
export class ChatHistory {
  readonly #isDrawn: (customType: unknown) => boolean;
  readonly #floors = new WeakMap<Session, string | undefined>();

  /** @param isDrawn whether an extension draws entries of this `customType` */
  constructor(isDrawn: (customType: unknown) => boolean) {
    this.#isDrawn = isDrawn;
  }

  path(session: Session): ChatPath {
    return chatPath(session, { floorId: this.#floorOf(session), isDrawn: this.#isDrawn });
  }

  /** How many of its entries extensions draw. */
  drawnCount(session: Session): number {
    return this.path(session).items.filter(({ entry }) => entry.type === "custom").length;
  }

  /** What was in memory when the session was opened stays there; without a compaction, everything is. */
  #floorOf(session: Session): string | undefined {
    const floorId = oldestHeldId(session);
    if (floorId === undefined || !this.#floors.has(session)) this.#floors.set(session, floorId);
    return this.#floors.get(session);
  }
}
