import type { Message } from "@bonsai-agent/messages";
import { createSession } from "@bonsai-agent/session";
import { visibleTexts } from "../../lab/src/needed-terms.ts";
import { type CompactionSettings, runCompaction } from "../src/index.ts";

/** The context of the model, as text. */
export interface Context {
  /** The messages that replace removed ones. */
  summary: string;
  /** The kept messages. */
  tail: string;
}

/** Makes the text that replaces the past, beside the tail. */
export type MakeSummary = (past: readonly Message[]) => string;

const model = { contextWindow: 200_000 };

/** A session of recorded or made-up messages, compacted by the real flow. */
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

  /** @throws Error if there was nothing to compact, or if it failed. */
  async compact(settings: CompactionSettings): Promise<void> {
    const { status, detail, firstKeptEntryId } = await runCompaction({
      session: this.#session,
      settings,
      model,
    });
    if (status !== "compacted") throw new Error(`${status}: ${detail}`);
    this.#firstKept = firstKeptEntryId === null ? this.#ids.length : this.#ids.indexOf(firstKeptEntryId);
  }

  /** The session's own view. Messages that were not added here count as the summary. */
  context(): Context {
    const own = new Set(this.#ids);
    const { items } = this.#session.projection();
    const textOf = (isOwn: boolean): string =>
      visibleTexts(items.filter(({ entryId }) => own.has(entryId) === isOwn).map(({ message }) => message));
    return { summary: textOf(false), tail: textOf(true) };
  }

  /** The same tail after another text. */
  contextWith(make: MakeSummary): Context {
    return {
      summary: make(this.#messages.slice(0, this.#firstKept)),
      tail: visibleTexts(this.#messages.slice(this.#firstKept)),
    };
  }
}
