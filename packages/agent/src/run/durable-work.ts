import { BonsaiError, type ToolCall } from "@bonsai-agent/messages";
import { raceAbort } from "@bonsai-agent/messages/host";
import type { CallEffects, CallState, Session } from "@bonsai-agent/session";
import type { AgentNotice } from "../notice.ts";
import type { Tool } from "../tools/tool-registry.ts";

/** A call and the entry of its answer: together their ids are unique, while some servers repeat ids of calls. */
export interface AnsweredCall {
  call: ToolCall;
  entryId: string;
}

/**
 * Waits until the session is stored for other hosts, and records tool calls in its ledger. With the durability of one host
 * it does nothing.
 */
export class DurableWork {
  readonly #session: Session;
  readonly #isShared: boolean;
  readonly #onNotice: (notice: AgentNotice) => void;

  /** @throws BonsaiError `session_not_shared` */
  constructor(
    session: Session,
    { durability, onNotice }: { durability: "shared" | undefined; onNotice: (notice: AgentNotice) => void },
  ) {
    this.#session = session;
    this.#onNotice = onNotice;
    this.#isShared = durability === "shared";
    if (this.#isShared && session.store.durable === undefined) throw notShared();
  }

  /**
   * Waits until everything appended is stored. Waits for a database that is away, with a notice, until the signal aborts.
   * @throws BonsaiError `session_lease_lost`, and the signal's reason
   */
  async stored(signal: AbortSignal): Promise<void> {
    if (!this.#isShared) return;
    const timer = setTimeout(() => this.#onNotice(SLOW), SLOW_MS);
    try {
      await raceAbort(this.#session.durable(), signal);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Notes calls that may change something, before any of them starts. */
  asked(calls: readonly AnsweredCall[], toolOf: (name: string) => Tool | undefined): void {
    for (const each of calls) this.#note(each, toolOf(each.call.name), "asked");
  }

  /** Returns once the ledger has the start of the call. Only then may it run. @throws as `stored` */
  async started(call: AnsweredCall, tool: Tool, signal: AbortSignal): Promise<void> {
    if (this.#note(call, tool, "started")) await this.stored(signal);
  }

  /** Notes that the call ended. The ledger has it as soon as the session has the result. */
  settled(call: AnsweredCall, tool: Tool | undefined): void {
    this.#note(call, tool, "settled");
  }

  /** Tells the model whether an interrupted call may have run. Undefined if nothing is known. */
  async interrupted(each: AnsweredCall, tool: Tool | undefined): Promise<string | undefined> {
    const { ledger } = this.#session.store;
    const effects = effectsOf(tool);
    if (!this.#isShared || ledger === undefined || effects === "none") return undefined;
    const state = await ledger.state(idOf(each));
    return state === "started" || state === "settled" ? MAY_HAVE_RUN[effects] : NEVER_STARTED;
  }

  #note(each: AnsweredCall, tool: Tool | undefined, state: CallState): boolean {
    const effects = effectsOf(tool);
    if (!this.#isShared || effects === "none") return false;
    this.#session.store.ledger?.note({ id: idOf(each), tool: each.call.name, effects }, state);
    return true;
  }
}

/** A server that restarts answers within this time. */
const SLOW_MS = 3_000;
const SLOW: AgentNotice = {
  level: "warning",
  code: "database_slow",
  message: "The database does not answer. The agent waits until it has stored the session.",
};

const NEVER_STARTED = "It did not start.";
const MAY_HAVE_RUN = {
  idempotent: "It may have run, in part or as a whole. You can safely call it again.",
  once: "It may have run, in part or as a whole. Bonsai does not repeat it. Check what it changed before you call it again.",
};

/** A tool that does not declare its effects may have any. */
function effectsOf(tool: Tool | undefined): CallEffects {
  return tool?.effects ?? "once";
}

function idOf({ call, entryId }: AnsweredCall): string {
  return `${entryId}:${call.id}`;
}

function notShared(): BonsaiError {
  return new BonsaiError({
    code: "session_not_shared",
    message: 'durability: "shared" needs a session in a database. This session belongs to one host.',
    hint: "Open the session with sharedSessions() of @bonsai-agent/postgres, or leave the option out.",
  });
}
