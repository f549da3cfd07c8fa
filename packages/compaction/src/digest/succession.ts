import { addsUp, lifts } from "./adds-up.ts";
import { type Change, cueWords } from "./change.ts";
import { hasToken } from "./has-token.ts";
import type { Statement } from "./statement.ts";
import { stem } from "./subject.ts";
import { comparable, type Value } from "./values.ts";

/** Two statements side by side. */
interface Encounter {
  later: Statement;
  earlier: Statement;
  change: Change;
  /** Stems that both are about. */
  shared: number;
  /** Shared stems as a share of the smaller subject, and of both together. */
  overlap: number;
  alike: number;
  /** A value of the later one that takes the place of one of the earlier. */
  fresh: Value | undefined;
  /** The words before the later one in its message. */
  context: string;
}

/** Whether the later statement takes the earlier one's place. */
export function replaces(later: Statement, change: Change, earlier: Statement, context = ""): boolean {
  const encounter = { ...meet(later, change, earlier), context };
  // The assistant talks of changes all day ("replaced the import"); it must name the old value.
  if (later.speaker === "assistant")
    return change.strong && later.kind === "decision" && namesOldValue(encounter);
  if (lifts(later, earlier)) return true;
  const rules = change.strong ? afterChange : withoutChange;
  return rules.some((rule) => rule(encounter)) && !addsUp(later, change, earlier);
}

function meet(later: Statement, change: Change, earlier: Statement): Omit<Encounter, "context"> {
  const both = [...later.subject].filter((word) => earlier.subject.has(word));
  const shared = both.every((word) => UNITS.has(word)) ? 0 : both.length;
  const least = Math.max(1, Math.min(contentSize(later), contentSize(earlier)));
  const union = later.subject.size + earlier.subject.size - shared;
  const fresh = freshValue(later, change, earlier);
  return {
    later,
    earlier,
    change,
    shared,
    overlap: Math.min(1, shared / least),
    alike: shared / Math.max(1, union),
    fresh,
  };
}

/** Stems that say what it is about, without the words of deciding and changing. */
function contentSize(statement: Statement): number {
  const cues = cueWords(statement);
  return [...statement.subject].filter((word) => !cues.has(word)).length;
}

/** "24 hours" and "4 hours" have a unit in common, and no subject. */
const UNITS: ReadonlySet<string> = new Set(
  "second seconds minute minutes hour hours day days week weeks sekunde sekunden minuten stunde stunden tag tage seconde secondes heure heures jour jours segundo segundos minuto minutos hora horas dia dias secondi minuti ora ore giorni секунд секунды минут минуты час часа часов дней 分钟 小时"
    .split(" ")
    .map(stem),
);

type Rule = (encounter: Encounter) => boolean;

/** Each rule suffices, where the later statement speaks of change. */
const afterChange: readonly Rule[] = [
  // "9090 instead of 8080"
  ({ earlier, change, fresh, shared }) =>
    earlier.values.some((value) => change.old.has(value.key)) &&
    (fresh !== undefined || change.revokes || shared > 0),
  // "8080 is taken, make it 9090"
  (encounter) => isSettingNamedWithOld(encounter),
  // "Move the gateway to 9090": the same subject, a new value of the same sort.
  ({ later, fresh, overlap, shared }) =>
    fresh !== undefined &&
    (fresh.type !== "path" || later.kind === "decision") &&
    shared > 0 &&
    overlap >= 0.3,
  // "Forget the nightly job"
  ({ change, earlier, shared }) =>
    change.revokes && shared >= 1 && shared / Math.max(1, earlier.subject.size) >= 0.5,
  // "Make that three attempts": a count in words, of the same thing.
  ({ later, earlier, shared }) => shared >= 2 && countChanged(later.folded, earlier.folded),
  // "Search runs on B after all", said of what A was chosen for.
  ({ later, earlier, fresh, shared }) =>
    later.kind === "decision" && earlier.kind === "decision" && fresh !== undefined && shared >= 2,
  // "Not tabs but spaces": the old one is named by a word.
  ({ later, earlier, change, shared }) =>
    isChoice(earlier) &&
    [...change.oldStems].some((word) => earlier.subject.has(word)) &&
    (shared >= 2 || later.subject.size <= 4),
];

/** Each rule suffices, where no word speaks of change. */
const withoutChange: readonly Rule[] = [
  // "8080 is taken, rather 9090"
  (encounter) =>
    (encounter.later.cues.has("prefer") || encounter.change.weak || encounter.change.marksOld) &&
    isSettingNamedWithOld(encounter),
  // "Tom reviews the schema now": all that was said before, and who or what is new.
  ({ later, earlier, shared }) =>
    later.cues.has("shift") &&
    earlier.subject.size >= 3 &&
    shared === earlier.subject.size &&
    isBareSaying(earlier),
  // "pgx v5 please": a short word about nothing but what the claim was about.
  ({ later, earlier, fresh, shared }) => {
    const size = later.subject.size;
    return isSetting(fresh) && size > 0 && size <= 3 && shared === size && earlier.subject.size <= 6;
  },
  // "A locks up under load. The queue goes on B then": the message names the old value before the new one.
  ({ later, earlier, fresh, shared, context }) =>
    fresh !== undefined &&
    shared >= 1 &&
    isTerse(later, earlier) &&
    isChoice(later) &&
    isChoice(earlier) &&
    earlier.values.some((value) => value.key.length > 2 && hasToken(context, value.key)),
  // "Make the button #40a02b"
  ({ later, earlier, fresh, overlap }) =>
    isSetting(fresh) && isTerse(later, earlier) && later.kind === "decision" && overlap >= 0.5,
  // "The timeout is 45 s", where it was 30 before.
  ({ later, earlier, fresh, change, shared, alike }) =>
    isSetting(fresh) &&
    isTerse(later, earlier) &&
    (change.weak ? shared >= 1 && alike >= 0.5 : shared >= 2 && alike >= 0.6),
  // "No new dependencies in a" and "… in b" both hold; "now it is b" does not leave a.
  ({ later, earlier, fresh, shared, alike }) =>
    isNaming(fresh) && isTerse(later, earlier) && later.cues.has("shift") && shared >= 2 && alike >= 0.6,
  // Both give a name to the same thing.
  ({ later, earlier, fresh, shared }) =>
    isNaming(fresh) &&
    isTerse(later, earlier) &&
    shared >= 1 &&
    GIVES_NAME.test(later.folded) &&
    GIVES_NAME.test(earlier.folded),
];

const GIVES_NAME =
  /\b(?:call(?:ed)?|named?|renamed?|heiss\w*|nenn\w*|appel\w*|nomm\w*|llam\w*|nombr\w*|cham\w*|chiam\w*)\b|назов|назыв|переимен|叫|命名|取名|改名|名前|名は|改め|이름/u;

const COUNTS =
  /(?<!\p{L})(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|eins?|zwei|drei|vier|funf|sechs|sieben|acht|neun|zehn|zwolf|deux|trois|quatre|cinq|sept|huit|neuf|dix|dos|tres|cuatro|cinco|siete|ocho|nueve|diez|dois|quatro|sete|oito|nove|dez|due|tre|quattro|cinque|sette|otto|dieci|два|две|три|четыре|пять|шесть|семь|восемь|девять|десять)(?!\p{L})/gu;

/** Both tell a count in words, and not the same. */
function countChanged(later: string, earlier: string): boolean {
  const [now] = later.match(COUNTS) ?? [];
  const before: string[] = earlier.match(COUNTS) ?? [];
  return now !== undefined && before.length > 0 && !before.includes(now);
}

function namesOldValue({ earlier, change, fresh }: Encounter): boolean {
  return (
    fresh !== undefined && earlier.values.some((value) => change.old.has(value.key) && isDistinct(value))
  );
}

/** Both values side by side, of which the claim knew one. */
function isSettingNamedWithOld({ later, earlier, fresh }: Encounter): boolean {
  if (fresh === undefined || !isSetting(fresh)) return false;
  const beside = later.values.filter((value) => isSetting(value) && comparable(value.type, fresh.type));
  return beside.some((value) => earlier.values.some((known) => known.key === value.key));
}

/** A value of the later statement that takes the place of one of the earlier; the earlier one may stand beside it. */
export function freshValue(later: Statement, change: Change, earlier: Statement): Value | undefined {
  const laterKeys = new Set(later.values.map((value) => value.key));
  const earlierKeys = new Set(earlier.values.map((value) => value.key));
  const gone = earlier.values.filter(
    (value) => change.old.has(value.key) || !laterKeys.has(value.key) || isSetting(value),
  );
  const fresh = later.values.filter(
    (value) => !earlierKeys.has(value.key) && gone.some((old) => comparable(old.type, value.type)),
  );
  // "Rename the planner to X": the word that marks an old value may stand before the only, new one.
  return fresh.find((value) => !change.old.has(value.key)) ?? fresh[0];
}

/** Statements of many values are lists: that two differ in one says little. */
const isTerse = (a: Statement, b: Statement): boolean => a.values.length <= 4 && b.values.length <= 4;
const isNaming = (value: Value | undefined): boolean =>
  value !== undefined && !isSetting(value) && value.type !== "path";

/** A value that can be set: of such there is one at a time. */
export function isSetting(value: Value | undefined): boolean {
  return value !== undefined && ["number", "url", "colour", "version", "hash"].includes(value.type);
}

/** A value that means the same wherever it stands; a name or a word in quotes does not. */
export function isDistinct(value: Value): boolean {
  if (value.type === "number") return value.key.replace(/\D/g, "").length >= 2;
  // A single plain word in backticks is a word.
  if (value.type === "code" && /^\p{L}+$/u.test(value.text) && !/\p{Ll}\p{Lu}/u.test(value.text))
    return false;
  return value.type !== "name" && value.type !== "quote" && value.key.length > 3;
}

/** Said of how things are, without a value that could still hold: "Kate reviews the schema". */
const isBareSaying = (statement: Statement): boolean =>
  statement.values.every((value) => value.type === "name") && statement.kind !== "constraint";

const isChoice = ({ kind }: Statement): boolean => kind !== "fact" && kind !== "todo" && kind !== "question";
