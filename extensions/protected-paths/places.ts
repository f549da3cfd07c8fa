import { readdirSync, readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve } from "node:path";
import type { ChangedPath } from "./changed-by-command.ts";
import { absolutePath, type Rule, ruleFor } from "./rules.ts";

/** The limit of Linux. */
const MAX_LINKS = 40;
/** Maximum number of entries to check in a folder that changes as a whole. */
const MAX_ENTRIES = 20_000;

export interface ProtectedPlace {
  /** As written in the call, or the target of its link. */
  path: string;
  rule: Rule;
}

/** Finds out whether a path leads to a protected file. */
export class Places {
  readonly #cwd: string;
  readonly #realCwd: string;
  readonly #rules: readonly Rule[];

  constructor({ cwd, rules }: { cwd: string; rules: readonly Rule[] }) {
    this.#cwd = cwd;
    this.#realCwd = realPath(cwd);
    this.#rules = rules;
  }

  /** Checks the path as written, with `..` resolved, and the target of its links. */
  protectedAt({ path, cwd, isWhole, isSure, isMeant = () => true }: ChangedPath): ProtectedPlace | undefined {
    const absolute = absolutePath(cwd, path);
    const real = realPath(absolute);
    // A mention does not count for derived files.
    const counts = (rule: Rule | undefined) => rule !== undefined && (isSure || !rule.isDerived);
    const rule = this.#ruleAt(absolute);
    if (counts(rule)) return { path, rule: rule! };
    const realRule = this.#ruleAt(real);
    if (counts(realRule)) return { path: real, rule: realRule! };
    return isWhole ? this.#inside(absolute, { left: MAX_ENTRIES, isMeant }) : undefined;
  }

  #ruleAt(path: string): Rule | undefined {
    const inFolder = [this.#cwd, this.#realCwd]
      .map((folder) => relative(folder, path))
      .find((way) => way !== "" && !/^\.\.(?:$|[\\/])/.test(way) && !isAbsolute(way));
    return ruleFor(this.#rules, {
      inFolder: inFolder?.replaceAll("\\", "/"),
      absolute: path.replaceAll("\\", "/"),
    });
  }

  /** Returns a protected file in a folder, without derived files. */
  #inside(folder: string, budget: Budget): ProtectedPlace | undefined {
    const entries = entriesOf(folder);
    budget.left -= entries.length;
    for (const entry of entries) {
      const path = join(folder, entry.name);
      const rule = this.#ruleAt(path);
      if (rule !== undefined && !rule.isDerived && budget.isMeant(entry.name)) return { path, rule };
      if (rule !== undefined || !entry.isDirectory() || budget.left < 0) continue;
      const found = this.#inside(path, budget);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

interface Budget {
  left: number;
  isMeant: (name: string) => boolean;
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    // Nothing in an unreadable folder can be deleted.
    return [];
  }
}

/** Resolves links as far as the path exists. */
function realPath(path: string, linksLeft: number = MAX_LINKS): string {
  try {
    return realpathSync(path);
  } catch {
    const folder = dirname(path);
    if (folder === path || linksLeft === 0) return path;
    const target = linkAt(path);
    if (target !== undefined)
      return realPath(resolve(realPath(folder, linksLeft - 1), target), linksLeft - 1);
    return join(realPath(folder, linksLeft), basename(path));
  }
}

/** The target of a link to a file that does not exist. */
function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
