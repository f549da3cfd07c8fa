import type { Message } from "@bonsai-agent/messages";
import { createSession } from "@bonsai-agent/session";
import { visibleTexts } from "../../lab/src/needed-terms.ts";
import { type CompactionSettings, runCompaction } from "../src/index.ts";

/** What the model has in front of it. */
export interface Context {
  /** All that stands in place of what went. */
  summary: string;
  /** What was kept of the messages. */
  tail: string;
}

/** What is left of it in place of the past, beside the tail, as text. */
export type MakeSummary = (past: readonly Message[]) => string;

const model = { contextWindow: 200_000 };

/** A session that recorded or made-up messages are added to, and that the real flow compacts. */
export class PlayedSession {
  readonly #session = createSession({ cwd: "/home/dev/project" });
  readonly #messages: Message[] = [];
  readonly #ids: string[] = [];
  #firstKept = 0;

  add(messages: readonly Message[]): void {
    for (const message of messages) {
      this.#messages.push(message);
      this.#ids.push(this.#session.append({ type: "message", message: message as never }).id);
    }
  }

  /** @throws Error where there was nothing to compact, or it went wrong. */
  async compact(settings: CompactionSettings): Promise<void> {
    const { status, detail, firstKeptEntryId } = await runCompaction({
      session: this.#session,
      settings,
      model,
    });
    if (status !== "compacted") throw new Error(`${status}: ${detail}`);
    this.#firstKept = firstKeptEntryId === null ? this.#ids.length : this.#ids.indexOf(firstKeptEntryId);
  }

  /** As the session gives it: whatever is no message of its own stands in place of what went. */
  context(): Context {
    const own = new Set(this.#ids);
    const { items } = this.#session.projection();
    const textOf = (isOwn: boolean): string =>
      visibleTexts(items.filter(({ entryId }) => own.has(entryId) === isOwn).map(({ message }) => message));
    return { summary: textOf(false), tail: textOf(true) };
  }

  /** The same tail with another text in front. */
  contextWith(make: MakeSummary): Context {
    return {
      summary: make(this.#messages.slice(0, this.#firstKept)),
      tail: visibleTexts(this.#messages.slice(this.#firstKept)),
    };
  }
}

/** The messages' text with the arguments of calls, as the model sees them. */
