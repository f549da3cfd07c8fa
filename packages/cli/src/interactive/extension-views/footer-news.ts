import type { FooterData } from "@bonsai-agent/extension";
import { gitBranch } from "../status/git-branch.ts";

/** A file is looked at no more often. */
const staleMs = 2_000;

export interface FooterNewsOptions {
  /** Absolute. */
  cwd: string;
  statuses: () => ReadonlyMap<string, string>;
}

/** What a footer of an extension asks for. Who listens to the branch is told when it is asked for the next time. */
export class FooterNews implements FooterData {
  readonly #options: FooterNewsOptions;
  readonly #listeners = new Set<() => void>();
  #branch: string | null = null;
  #readMs = Number.NEGATIVE_INFINITY;

  constructor(options: FooterNewsOptions) {
    this.#options = options;
  }

  // Extensions take these out of the object.
  readonly getGitBranch = (): string | null => {
    const now = performance.now();
    if (now - this.#readMs < staleMs) return this.#branch;
    const isFirst = this.#readMs === Number.NEGATIVE_INFINITY;
    this.#readMs = now;
    const former = this.#branch;
    this.#branch = gitBranch(this.#options.cwd) ?? null;
    if (!isFirst && former !== this.#branch) queueMicrotask(() => this.#tell());
    return this.#branch;
  };

  readonly getExtensionStatuses = (): ReadonlyMap<string, string> => this.#options.statuses();

  readonly onBranchChange = (callback: () => void): (() => void) => {
    this.#listeners.add(callback);
    return () => this.#listeners.delete(callback);
  };

  #tell(): void {
    for (const callback of this.#listeners) callback();
  }
}
