import { readdirSync, readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve } from "node:path";
import { absolutePath } from "./absolute-path.ts";
import type { ChangedPath } from "./changed-by-command.ts";
import { type Rule, ruleFor } from "./rules.ts";

/** As many as Linux follows. */
const MAX_LINKS = 40;
/** Of a folder that goes as a whole, so many are looked at. */
const MAX_ENTRIES = 20_000;

export interface ProtectedPlace {
  /** As it was said, or where it leads. */
  path: string;
  rule: Rule;
}

/** Owner of the question whether a path leads to something protected. */
export class Places {
  readonly #cwd: string;
  readonly #realCwd: string;
  readonly #rules: readonly Rule[];

  constructor({ cwd, rules }: { cwd: string; rules: readonly Rule[] }) {
    this.#cwd = cwd;
    this.#realCwd = realPath(cwd);
    this.#rules = rules;
  }

  /** By the path as it is said, with `..` resolved, and by where its links lead. */
  protectedAt({ path, cwd, isWhole, isSure, isMeant = () => true }: ChangedPath): ProtectedPlace | undefined {
    const said = absolutePath(cwd, path);
    const real = realPath(said);
    // Derived files can be made again: a mention does not count.
    const counts = (rule: Rule | undefined) => rule !== undefined && (isSure || !rule.isDerived);
    const rule = this.#ruleAt(said);
    if (counts(rule)) return { path, rule: rule! };
    const realRule = this.#ruleAt(real);
    if (counts(realRule)) return { path: real, rule: realRule! };
    return isWhole ? this.#inside(said, { left: MAX_ENTRIES, isMeant }) : undefined;
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

  /** What a folder holds that can not be made anew. */
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
    // No folder, or none that can be read: then nothing in it can be deleted either.
    return [];
  }
}

/** Links resolved as far as the path exists; the rest as it is written. */
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

/** Where a link leads that leads nowhere yet. */
function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
