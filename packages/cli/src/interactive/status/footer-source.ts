import { readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Agent, AgentState, LifecycleEvents } from "@bonsai-agent/agent";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import { BonsaiError, inputTokens, type Usage } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import { hasEstimate } from "../../views/numbers.ts";
import { freeAmong } from "../../views/session-facts.ts";
import { isNoModel } from "../no-model.ts";
import type { FooterFacts } from "./footer.ts";
import { SessionCost } from "./session-cost.ts";

export interface FooterSourceOptions {
  /** Absolute; where tools work. */
  cwd: string;
  /** As the footer shows it, with `~`. */
  folder: string;
  /** Undefined before the session is open; asked whenever it is needed, for it changes. */
  agent: () => Agent | undefined;
  /** Short texts of extensions, in the order in which they are shown. Default: none. */
  statuses?: () => readonly string[];
  redraw: () => void;
}

/** So many messages are counted in no time. */
const QUICKLY_COUNTED = 1_000;

/**
 * Owner of what the footer shows. It is worked out anew when something of it has changed, not for each frame: the
 * context of a long session takes its time.
 */
export class FooterSource {
  readonly cost = new SessionCost();
  readonly #options: FooterSourceOptions;
  #branch: string | undefined;
  /** True from the opening of a session until its context is counted. */
  #isUncounted = false;
  #facts: FooterFacts | undefined;
  #known: FooterFacts | undefined;

  constructor(options: FooterSourceOptions) {
    this.#options = options;
    this.#branch = gitBranch(options.cwd);
  }

  listen(lifecycle: Lifecycle<LifecycleEvents>): void {
    this.cost.listen(lifecycle);
    const refresh = () => this.refresh();
    lifecycle.on("session_start", ({ reason }) => {
      if (reason !== "reload") this.#isUncounted = true;
      this.refresh();
    });
    const changes = ["session_tree", "session_compact", "session_compact_undo", "session_mask"] as const;
    for (const name of [...changes, "background_compaction"] as const) lifecycle.on(name, refresh);
    lifecycle.on("message_stored", ({ message }) => {
      if (message.role === "bashExecution" || message.role === "toolResult") this.#readBranch();
      const isAnswer = message.role === "assistant" && message.stopReason !== "error";
      if (isAnswer) this.#isUncounted = false;
      this.refresh();
    });
    lifecycle.on("agent_end", () => {
      this.#readBranch();
      this.refresh();
    });
    for (const name of ["model_select", "thinking_level_select", "session_info_changed"] as const)
      lifecycle.on(name, refresh);
  }

  /** To be called when the messages of a session that was opened have been counted. */
  contextCounted(): void {
    this.#isUncounted = false;
    this.refresh();
  }

  /** To be called when something has changed without an event. */
  refresh(): void {
    this.#facts = undefined;
    this.#options.redraw();
  }

  /** The same object until something changes. */
  get facts(): FooterFacts | undefined {
    const { agent: agentNow, statuses = () => [] } = this.#options;
    const agent = agentNow();
    const shown = statuses();
    if (this.#facts?.statuses.join("\n") !== shown.join("\n")) this.#facts = undefined;
    this.#facts ??= agent === undefined ? undefined : this.#readOpen(agent, [...shown]);
    return this.#facts;
  }

  /** At the end, and between two sessions, a frame can come when the session is closed: it shows what was known. */
  #readOpen(agent: Agent, statuses: readonly string[]): FooterFacts | undefined {
    try {
      this.#known = this.#read(agent, statuses);
    } catch (error) {
      if (!BonsaiError.is(error) || error.code !== "session_closed") throw error;
    }
    return this.#known;
  }

  #readBranch(): void {
    this.#branch = gitBranch(this.#options.cwd);
  }

  #read({ session, state, isCompactingInBackground }: Agent, statuses: readonly string[]): FooterFacts {
    const { model, askedThinking, sessionName } = state;
    const cost = this.cost.cost(freeAmong([model]));
    return {
      folder: this.#options.folder,
      branch: this.#branch,
      sessionName,
      model: isNoModel(model) ? undefined : { provider: model.provider, id: model.id },
      thinking: askedThinking,
      ...this.#contextOf(session, state),
      costUsd: cost.usd,
      isCostPartial: cost.certainty !== "known",
      isCostUnknown: cost.certainty === "unknown" && model.usdPerMillionTokens !== undefined,
      isSummarising: isCompactingInBackground,
      used: usedTokens(this.cost.usage),
      statuses,
    };
  }

  /** A long context whose size no answer has reported is counted between the keys, not before the first frame. */
  #contextOf(
    session: Session,
    state: AgentState,
  ): Pick<FooterFacts, "tokens" | "windowTokens" | "certainty"> {
    if (this.#isUncounted && takesLongToCount(session))
      return { tokens: 0, windowTokens: state.model.contextWindow || undefined, certainty: "unknown" };
    const { tokens, windowTokens } = state.context;
    return { tokens, windowTokens, certainty: hasEstimate(state.context) ? "estimate" : "reported" };
  }
}

function usedTokens(usage: Usage): FooterFacts["used"] {
  const sent = inputTokens(usage);
  const got = usage.output;
  if (sent + got === 0) return undefined;
  return { sent, got, cachedShare: sent === 0 ? 0 : usage.cacheRead / sent };
}

function takesLongToCount(session: Session): boolean {
  const { items } = session.projection();
  const last = items.at(-1)?.message;
  const isAnswered =
    last?.role === "assistant" && last.stopReason !== "error" && last.stopReason !== "aborted";
  return items.length > QUICKLY_COUNTED && !isAnswered;
}

/** The git branch of a folder, or the first digits of the commit where none is checked out; git itself is not run. */
export function gitBranch(folder: string): string | undefined {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const head = headOf(at);
    if (head !== undefined) return branchOf(head);
    if (dirname(at) === at) return undefined;
  }
}

function headOf(folder: string): string | undefined {
  const inside = textOf(join(folder, ".git", "HEAD"));
  if (inside !== undefined) return inside;
  // In a worktree or submodule, .git is a file that names the folder.
  const gitFolder = /^gitdir: (.+)$/m.exec(textOf(join(folder, ".git")) ?? "")?.[1];
  return gitFolder === undefined ? undefined : textOf(join(resolve(folder, gitFolder.trim()), "HEAD"));
}

function branchOf(head: string): string | undefined {
  const branch = /^ref: (?:refs\/heads\/)?(.+)$/m.exec(head)?.[1]?.trim();
  // Its references are in a table, and this stands in HEAD for those who do not know of it.
  if (branch === ".invalid") return undefined;
  return branch ?? /^[0-9a-f]{7}/.exec(head)?.[0];
}

/** What cannot be read is not there: the footer has better things to show than why. */
function textOf(file: string): string | undefined {
  try {
    // To read from a pipe would wait for somebody to write.
    return statSync(file).isFile() ? readFileSync(file, "utf8") : undefined;
  } catch {
    return undefined;
  }
}
