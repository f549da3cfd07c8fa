import { readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Agent, LifecycleEvents } from "@bonsai-agent/agent";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import { BonsaiError, inputTokens, type Usage } from "@bonsai-agent/messages";
import { type Session, UsageCounter } from "@bonsai-agent/session";
import { hasEstimate } from "../../views/numbers.ts";
import { freeAmong } from "../../views/session-facts.ts";
import { betweenKeys } from "../between-keys.ts";
import { isNoModel } from "../no-model.ts";
import type { FooterFacts } from "./footer.ts";

export interface FooterSourceOptions {
  cwd: string;
  /** The same as shown, with `~`. */
  folder: string;
  /** Undefined before the session is open. */
  agent: () => Agent | undefined;
  /** Short texts of extensions. Default: none. */
  statuses?: () => readonly string[];
  redraw: () => void;
}

const CHANGES = [
  ...(["session_tree", "session_compact", "session_compact_undo", "session_mask"] as const),
  ...(["background_compaction", "message_stored", "agent_end"] as const),
  ...(["model_select", "thinking_level_select", "session_info_changed"] as const),
];

/** The session is shown before its whole file is read for the cost. */
const COST_AFTER_MS = 200;

/** Owner of the footer's facts. Reads them after a change, not for each frame: a long context takes its time. */
export class FooterSource {
  readonly #options: FooterSourceOptions;
  readonly #cost = new SessionCost();
  #facts: FooterFacts | undefined;
  #isStale = true;

  constructor(options: FooterSourceOptions) {
    this.#options = options;
  }

  listen(lifecycle: Lifecycle<LifecycleEvents>): void {
    lifecycle.on("session_start", ({ reason }) => {
      const session = this.#options.agent()?.session;
      if (reason !== "reload" && session !== undefined) this.#cost.start(session, () => this.#change());
      this.refresh();
    });
    lifecycle.on("session_shutdown", () => this.stop());
    for (const name of CHANGES) lifecycle.on(name, () => this.#change());
  }

  /** To be called when something has changed without an event. */
  refresh(): void {
    this.#isStale = true;
    this.#options.redraw();
  }

  get facts(): FooterFacts | undefined {
    const statuses = this.#options.statuses?.() ?? [];
    if (this.#isStale || this.#facts?.statuses.join("\n") !== statuses.join("\n")) this.#read(statuses);
    return this.#facts;
  }

  stop(): void {
    this.#cost.stop();
  }

  #change(): void {
    const session = this.#options.agent()?.session;
    if (session !== undefined) this.#cost.catchUp(session);
    this.refresh();
  }

  /** A frame between two sessions finds the session closed and shows the last known facts. */
  #read(statuses: readonly string[]): void {
    const agent = this.#options.agent();
    if (agent === undefined) return;
    try {
      this.#facts = { ...footerFacts(agent, this.#options, this.#cost.counter), statuses: [...statuses] };
      this.#isStale = false;
    } catch (error) {
      if (!BonsaiError.is(error) || error.code !== "session_closed") throw error;
    }
  }
}

function footerFacts(
  { state, isCompactingInBackground }: Agent,
  { cwd, folder }: FooterSourceOptions,
  { cost: sum, usage }: UsageCounter,
): Omit<FooterFacts, "statuses"> {
  const { model, askedThinking, sessionName, context } = state;
  const cost = sum.cost(freeAmong([model]));
  const isUnpriced = cost.certainty === "unknown" && model.usdPerMillionTokens === undefined;
  return {
    ...{ folder, branch: gitBranch(cwd), sessionName, thinking: askedThinking },
    model: isNoModel(model) ? undefined : { provider: model.provider, id: model.id },
    ...{ tokens: context.tokens, windowTokens: context.windowTokens, isEstimate: hasEstimate(context) },
    cost: isUnpriced ? undefined : cost,
    isSummarising: isCompactingInBackground,
    used: usedTokens(usage),
  };
}

function usedTokens(usage: Usage): FooterFacts["used"] {
  const sent = inputTokens(usage);
  const got = usage.output;
  if (sent + got === 0) return undefined;
  return { sent, got, cachedShare: sent === 0 ? 0 : usage.cacheRead / sent };
}

type Readable = Pick<Session, "index" | "entryAt" | "leafId">;

/** Adds up the usage of a session over all its branches. */
export class SessionCost {
  counter = new UsageCounter();
  #next = 0;
  #isCaughtUp = false;
  #stop = () => {};

  /** Reads a session from its first entry on, some entries at a time between the keys. */
  start(session: Readable, onRead: () => void): void {
    this.stop();
    this.counter = new UsageCounter();
    this.#next = 0;
    this.#isCaughtUp = session.leafId === null;
    if (this.#isCaughtUp) return;
    this.#stop = betweenKeys(this.#steps(session, onRead), COST_AFTER_MS);
  }

  /** Adds the entries that were stored since. Does nothing until the first reading is done. */
  catchUp(session: Readable): void {
    if (this.#isCaughtUp) for (const _ of this.#steps(session));
  }

  stop(): void {
    this.#stop();
  }

  *#steps(session: Readable, onRead = () => {}): Generator<void> {
    try {
      const { count } = session.index();
      while (this.#next < count) {
        const entry = session.entryAt(this.#next);
        if (entry !== undefined) this.counter.add(entry);
        this.#next += 1;
        yield;
      }
    } catch {
      // A closed session or a missing file: the next real use reports it.
      return;
    }
    this.#isCaughtUp = true;
    onRead();
  }
}

/** The git branch of a folder, or the first digits of a commit. Reads git's files and does not run git. */
export function gitBranch(folder: string): string | undefined {
  const head = headOf(folder);
  if (head === undefined) return dirname(folder) === folder ? undefined : gitBranch(dirname(folder));
  const branch = /^ref: (?:refs\/heads\/)?(.+)$/m.exec(head)?.[1]?.trim();
  // Git writes this name if it stores references in a table.
  return branch === ".invalid" ? undefined : (branch ?? /^[0-9a-f]{7}/.exec(head)?.[0]);
}

function headOf(folder: string): string | undefined {
  const git = join(folder, ".git");
  // In a worktree or submodule, .git is a file that names the folder.
  const [, path] = /^gitdir: (.+)$/m.exec(fileText(git) ?? "") ?? [];
  return fileText(join(path === undefined ? git : resolve(folder, path.trim()), "HEAD"));
}

function fileText(file: string): string | undefined {
  try {
    // Reading a pipe would block.
    return statSync(file).isFile() ? readFileSync(file, "utf8") : undefined;
  } catch {
    return undefined;
  }
}
