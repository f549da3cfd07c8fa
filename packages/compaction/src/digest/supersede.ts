import { addsUp } from "./adds-up.ts";
import { type Change, changeOf } from "./change.ts";
import type { Statement } from "./statement.ts";
import { freshValue, isDistinct, isSetting, replaces } from "./succession.ts";
import { comparable } from "./values.ts";

/** What later statements did to earlier ones. */
export interface Supersession {
  /** Statements that a later one replaced or took back. */
  replaced: ReadonlySet<Statement>;
  /** Values that hold no longer, with the value that took their place ("" where none did) and when. */
  deadValues: ReadonlyMap<string, { by: string; order: number }>;
}

const MAX_CANDIDATES = 80;
const MAX_PER_KEY = 25;
/** How far back a change without a subject looks for what it means. */
const MAX_LOOK_BACK = 60;
const MAX_TURNS_BETWEEN = 6;

/**
 * Finds which statements stand no longer. A later statement replaces an earlier one when it names the earlier value as
 * the old one; when it speaks of change and of the same subject with another value of the same sort; or, without a
 * word of change, when both are about the very same thing and differ in the value alone (see succession.ts). Candidates
 * come from an index over subjects and values, the most recent first, so that the work stays linear.
 */
export function supersede(statements: readonly Statement[]): Supersession {
  const walk = new Walk();
  for (const statement of statements) walk.meet(statement);
  return walk;
}

class Walk implements Supersession {
  readonly replaced = new Set<Statement>();
  readonly deadValues = new Map<string, { by: string; order: number }>();
  readonly #index = new Map<string, Statement[]>();
  readonly #claims: Statement[] = [];
  #context = { order: -1, text: "" };

  meet(statement: Statement): void {
    if (isClaim(statement)) this.#claim(statement);
    if (isClaim(statement) || statement.kind === "todo" || asksWithValue(statement)) this.#enter(statement);
  }

  #claim(statement: Statement): void {
    const change = changeOf(statement);
    for (const value of statement.values) if (!change.old.has(value.key)) this.deadValues.delete(value.key);
    const context = this.#heardBefore(statement);
    const gone = this.#candidates(statement).filter((earlier) =>
      replaces(statement, change, earlier, context),
    );
    const meant = gone.length === 0 && change.bare ? this.#meant(statement, change) : undefined;
    for (const earlier of meant === undefined ? gone : [meant]) {
      this.replaced.add(earlier);
      this.#bury(statement, change, earlier);
    }
    if (statement.values.length > 0) this.#claims.push(statement);
  }

  /** What the same message said before, its start at most. */
  #heardBefore(statement: Statement): string {
    const before = this.#context.order === statement.order ? this.#context.text : "";
    this.#context = { order: statement.order, text: `${before} ${statement.folded}`.slice(0, 1_000) };
    return statement.order < 0 || statement.speaker !== "user" ? "" : before;
  }

  #enter(statement: Statement): void {
    for (const key of keysOf(statement)) {
      const list = this.#index.get(key);
      if (list === undefined) this.#index.set(key, [statement]);
      else list.push(statement);
    }
  }

  #candidates(statement: Statement): Statement[] {
    const found = new Set<Statement>();
    for (const key of keysOf(statement)) {
      for (const earlier of (this.#index.get(key) ?? []).slice(-MAX_PER_KEY)) found.add(earlier);
      if (found.size > MAX_CANDIDATES) break;
    }
    return [...found].filter((earlier) => this.#stands(earlier, statement)).sort((a, b) => b.order - a.order);
  }

  #stands(earlier: Statement, statement: Statement): boolean {
    return !this.replaced.has(earlier) && earlier.order < statement.order;
  }

  /** "Use 9090 instead", with no subject: it means the claim that last named such a value. */
  #meant(statement: Statement, change: Change): Statement | undefined {
    const standing = this.#claims
      .slice(-MAX_LOOK_BACK)
      .filter((claim) => this.#stands(claim, statement) && !addsUp(statement, change, claim));
    const last = standing.findLast((claim) => claim.speaker === "user");
    // Right after a claim anything can be meant; later only a setting of the same sort.
    if (last !== undefined && isCorrection(statement, last)) return last;
    const target = standing.findLast((claim) => claim.values.some(isSetting));
    if (target === undefined || statement.turn - target.turn > MAX_TURNS_BETWEEN) return undefined;
    const fresh = freshValue(statement, change, target);
    return isSetting(fresh) && target.values.some((value) => value.type === fresh?.type) ? target : undefined;
  }

  /** Notes which values hold no longer, so that no other line shows them as if they did. */
  #bury(later: Statement, change: Change, earlier: Statement): void {
    const laterKeys = new Set(later.values.map((value) => value.key));
    for (const value of earlier.values) {
      const isOld = change.old.has(value.key);
      if (!isOld && (!isDistinct(value) || (laterKeys.has(value.key) && !isSetting(value)))) continue;
      const others = later.values.filter(
        (other) => other.key !== value.key && comparable(other.type, value.type),
      );
      const by = others.find((other) => !change.old.has(other.key)) ?? others[0];
      if (by !== undefined || isOld)
        this.deadValues.set(value.key, { by: by?.text ?? "", order: later.order });
    }
  }
}

function isClaim({ kind }: Statement): boolean {
  return ["decision", "constraint", "fact", "preference", "plain"].includes(kind);
}

function asksWithValue({ kind, values }: Statement): boolean {
  return kind === "request" && values.some((value) => value.type !== "path");
}

function keysOf({ values, subject }: Statement): string[] {
  return [...values.map((value) => `=${value.key}`), ...subject];
}

/** A short word right after the claim, with one value of the same make: "no, ISO_DATE". */
function isCorrection(statement: Statement, last: Statement): boolean {
  const [value, ...more] = statement.values;
  if (value === undefined || more.length > 0 || value.type === "path" || statement.text.length > 60)
    return false;
  const known = last.values.some((old) => old.type === value.type && old.key !== value.key);
  return known && statement.turn - last.turn <= 1;
}
