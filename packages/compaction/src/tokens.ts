import {
  byScriptEstimator,
  type Calibration,
  type ContextTokens,
  calibrate,
  chars4Estimator,
  chars4FloorEstimator,
  estimateContextTokens,
  IMAGE_TOKENS,
  type Message,
  type TokenEstimator,
} from "@bonsai-agent/messages";
import {
  CALIBRATION_CUSTOM_TYPE,
  type CompactionEntry,
  type Entry,
  type EntryDraftWithId,
  type ProjectionItem,
  pinChange,
  type Session,
  UNDO_CUSTOM_TYPE,
} from "@bonsai-agent/session";
import { ownDetails } from "./own-details.ts";
import type { CompactionSettings } from "./settings.ts";

/**
 * How a session's tokens are counted, and what every request holds beside its messages. It is learned when something of it
 * is first asked for, which takes its time in a long context.
 */
export interface SessionEstimate {
  readonly estimator: TokenEstimator;
  /** System prompt and tools: as learned, else by estimate where they were given; 0 where unknown. */
  readonly overheadTokens: number;
  /** What was learned: kept in the manifest, for a compaction takes the evidence away. */
  readonly calibration: Calibration | undefined;
}

export interface SessionEstimateOptions {
  session: Session;
  settings: CompactionSettings;
  /** Default: the session's leaf. */
  leafId?: string | null;
  /** What every request holds beside its messages: asked for, and counted, until usage has taught how much that is. */
  fixedTexts?: (() => readonly string[]) | undefined;
}

/** The estimator that the settings name; the calibrated one learns from the session's own usage. */
export function sessionEstimate(options: SessionEstimateOptions): SessionEstimate {
  const learnt = learntEstimate(options);
  const { fixedTexts } = options;
  if (fixedTexts === undefined) return learnt;
  const { estimator } = learnt;
  return {
    estimator,
    get overheadTokens() {
      const { calibration, overheadTokens } = learnt;
      return (calibration?.samples ?? 0) > 0 ? overheadTokens : fixedTokens(fixedTexts(), estimator);
    },
    get calibration() {
      return learnt.calibration;
    },
  };
}

function fixedTokens(texts: readonly string[], estimator: TokenEstimator): number {
  const known = fixed.get(texts);
  if (known?.estimator === estimator) return known.tokens;
  const tokens = texts.reduce((sum, text) => sum + estimator.text(text), 0);
  fixed.set(texts, { estimator, tokens });
  return tokens;
}

/** They are asked for before every request, and seldom change. */
const fixed = new WeakMap<readonly string[], { estimator: TokenEstimator; tokens: number }>();

function learntEstimate({
  session,
  settings,
  leafId = session.leafId,
}: SessionEstimateOptions): SessionEstimate {
  const { items, compaction } = session.projection(leafId);
  const recorded = () => recordedCalibration(session, leafId, compaction);
  if (settings.estimator === "chars4") return plain(chars4Estimator, recorded);
  if (settings.estimator === "chars4Floor") return plain(chars4FloorEstimator, recorded);
  const estimate = learned.get(items) ?? learning(calibrationAt(session, leafId));
  learned.set(items, estimate);
  return estimate;
}

/** What a context taught; its list of items is another one after every change. */
const learned = new WeakMap<readonly ProjectionItem[], SessionEstimate>();

function learning(calibration: () => Calibration): SessionEstimate {
  return {
    estimator: countingOnce(calibration),
    get overheadTokens() {
      return calibration().overheadTokens;
    },
    get calibration() {
      return calibration();
    },
  };
}

/** The calibrated estimator, with the count of each message remembered. */
function countingOnce(calibration: () => Calibration): TokenEstimator {
  const message = (each: Message) => {
    const imageTokens = imageCount(each) * IMAGE_TOKENS;
    return imageTokens + Math.ceil((base.message(each) - imageTokens) * calibration().ratio);
  };
  const text = (each: string) => Math.ceil(base.text(each) * calibration().ratio);
  return { name: "calibrated", text, message };
}

function imageCount(message: Message): number {
  const content = "content" in message && Array.isArray(message.content) ? message.content : [];
  return content.filter((block) => block?.type === "image").length;
}

/** It learns nothing from usage; but what a compaction found beside the messages is there still. */
function plain(estimator: TokenEstimator, recorded: () => Calibration | undefined): SessionEstimate {
  return {
    estimator,
    get overheadTokens() {
      return recorded()?.overheadTokens ?? 0;
    },
    get calibration() {
      return recorded();
    },
  };
}

/** The context is looked at before every request, and a message counts the same each time. */
const counted = new WeakMap<Message, number>();
const base: TokenEstimator = {
  ...byScriptEstimator,
  message(message) {
    const tokens = counted.get(message) ?? byScriptEstimator.message(message);
    counted.set(message, tokens);
    return tokens;
  },
};

/** Counts the messages of the present context, one at a step: an estimate that is asked for afterwards takes no time. */
export function* countAhead(session: Session): Generator<void> {
  for (const { message } of session.projection().items) {
    if (counted.has(message)) continue;
    base.message(message);
    yield;
  }
}

/** A calibration from fewer answers says less than the one before the compaction did; more correct what it knew. */
const ENOUGH_SAMPLES = 4;

/** From the usage after the latest change of the context; where that is too little, what was known then. */
function calibrationAt(session: Session, leafId: string | null): () => Calibration {
  // What the context is now: by the time that it is learned from, the session may have gone on.
  const { items, compaction } = session.projection(leafId);
  let learnt: Calibration | undefined;
  const learn = () => {
    const staleBefore = staleCount(session, leafId, items);
    const prior = recordedCalibration(session, leafId, compaction);
    const found = calibrate({ messages: items.map((item) => item.message), base, staleBefore, prior });
    return found.samples >= ENOUGH_SAMPLES ? found : (prior ?? found);
  };
  return () => {
    learnt ??= learn();
    return learnt;
  };
}

export interface ReadContextOptions {
  session: Session;
  estimator: TokenEstimator;
  /** Default: the session's leaf. */
  leafId?: string | null;
  /** The projection's items, where the caller has them. */
  items?: readonly ProjectionItem[];
  /** Tokens of system prompt and tools; they count, and are asked for, where no usage can be trusted. Default 0. */
  overheadTokens?: number;
}

/**
 * Reads how many tokens the context holds. An answer's usage is not trusted when it is older than the latest
 * compaction, its undoing, or an edit.
 */
export function readContext(options: ReadContextOptions): ContextTokens {
  const { session, estimator, leafId = session.leafId } = options;
  const items = options.items ?? session.projection(leafId).items;
  const known = readings.get(items);
  if (known !== undefined && isKnown(known, { session, leafId, estimator }, options)) return known.reading;
  const messages = items.map((item) => item.message);
  const staleBefore = staleCount(session, leafId, items);
  let overheadTokens = 0;
  const reading = estimateContextTokens({
    ...{ messages, estimator, staleBefore },
    get overheadTokens() {
      overheadTokens = options.overheadTokens ?? 0;
      return overheadTokens;
    },
  });
  readings.set(items, { session, leafId, estimator, overheadTokens, reading });
  return reading;
}

type Asked = Required<Pick<ReadContextOptions, "session" | "leafId" | "estimator">>;

interface Reading extends Asked {
  overheadTokens: number;
  reading: ContextTokens;
}

/** A list of items never changes, so that what was read of it once need not be read again. */
const readings = new WeakMap<readonly ProjectionItem[], Reading>();

function isKnown(
  known: Reading,
  { session, leafId, estimator }: Asked,
  options: Pick<ReadContextOptions, "overheadTokens">,
): boolean {
  if (known.session !== session || known.leafId !== leafId || known.estimator !== estimator) return false;
  return known.reading.source === "usage" || known.overheadTokens === (options.overheadTokens ?? 0);
}

/** How many of the items, from the first on, are older than whatever last changed the context other than by adding. */
function staleCount(session: Session, leafId: string | null, items: readonly ProjectionItem[]): number {
  let count = items.length;
  for (const entry of tailEntries(session, leafId, undefined)) {
    if (count === 0 || changesContext(entry)) break;
    if (items[count - 1]?.entryId === entry.id) count -= 1;
  }
  return count;
}

function changesContext(entry: Entry): boolean {
  if (entry.type === "custom") return entry.customType === UNDO_CUSTOM_TYPE;
  if (pinChange(entry)?.isPinned === false) return true;
  return entry.type === "compaction" || entry.type === "context_edit";
}

/** True when nothing that the model sees came after the live compaction. */
export function isJustCompacted(session: Session, leafId: string | null = session.leafId): boolean {
  const { items, compaction } = session.projection(leafId);
  if (compaction === undefined) return false;
  const visible = new Set(items.map((item) => item.entryId));
  for (const { id } of tailEntries(session, leafId, compaction)) {
    if (visible.has(id)) return id === compaction.id;
  }
  return false;
}

/** The entry to write, where no manifest of ours can keep it, beside a change that makes all earlier usage count no more; none where nothing is known. */
export function calibrationDrafts(calibration: Calibration | undefined): EntryDraftWithId[] {
  if (calibration === undefined || calibration.samples === 0) return [];
  return [{ type: "custom", customType: CALIBRATION_CUSTOM_TYPE, data: calibration }];
}

/** What the latest compaction or masking knew of the session's tokens. */
function recordedCalibration(
  session: Session,
  leafId: string | null,
  compaction: CompactionEntry | undefined,
): Calibration | undefined {
  for (const entry of tailEntries(session, leafId, compaction)) {
    const known = calibrationIn(entry);
    if (known !== undefined) return known;
  }
  return undefined;
}

function calibrationIn(entry: Entry): Calibration | undefined {
  if (entry.type === "custom" && entry.customType === CALIBRATION_CUSTOM_TYPE) return whole(entry.data);
  if (entry.type !== "compaction") return undefined;
  const { manifest } = ownDetails(entry) as { manifest?: { calibration?: unknown } };
  return whole(manifest?.calibration);
}

function whole(value: unknown): Calibration | undefined {
  const { ratio, overheadTokens, samples } = (value ?? {}) as Partial<Calibration>;
  const isWhole =
    typeof ratio === "number" && typeof overheadTokens === "number" && typeof samples === "number";
  return isWhole ? { ratio, overheadTokens, samples } : undefined;
}

/**
 * The entries of a path from its leaf back to where the model's view of it begins, newest first: what an open
 * session has in memory, so that looking at it reads nothing.
 */
export function* tailEntries(
  session: Session,
  leafId: string | null,
  compaction: CompactionEntry | undefined,
): Generator<Entry> {
  // A damaged file may hold a cycle: from time to time an id is marked, and coming back to it ends the walk.
  let marked: string | undefined;
  let markAt = 64;
  let steps = 0;
  for (let id = leafId; id !== null && id !== marked; ) {
    steps += 1;
    if (steps === markAt) [marked, markAt] = [id, markAt * 2];
    const entry = session.entry(id);
    if (entry === undefined) return;
    yield entry;
    if (id === compaction?.firstKeptEntryId) return;
    id = entry.parentId;
  }
}
