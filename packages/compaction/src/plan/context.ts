import {
  type Calibration,
  type ContextTokens,
  calibrate,
  chars4Estimator,
  estimateContextTokens,
  IMAGE_TOKENS,
  type Message,
  type Model,
  type TokenEstimator,
  tokenEstimator,
  contextTokens as usageTokens,
} from "@bonsai-agent/messages";
import { chars4FloorEstimator, isGoodAnswer, UNSEEN_TOKENS } from "@bonsai-agent/messages/host";
import {
  type Entry,
  type Projection,
  type ProjectionItem,
  pinChange,
  type Session,
} from "@bonsai-agent/session";
import { compactionChange, projectEntry } from "@bonsai-agent/session/host";
import { besideOf, manifestOf } from "../details.ts";
import type { CompactionPolicy } from "../settings.ts";

export interface ReadContextOptions {
  /** The session of the context. */
  session: Session;
  /** Default: the session's leaf. */
  leafId?: string | null | undefined;
  /** System prompt and tools of every request. They are estimated until usage shows their size. Default: none. */
  fixedTexts?: (() => readonly string[]) | undefined;
  /** The model of the next request. Images count only if it accepts them. Default: it accepts them. */
  model?: Pick<Model, "input"> | undefined;
  /** Counts the tokens. Default: "calibrated". */
  estimator?: TokenEstimator | CompactionPolicy["estimator"] | undefined;
}

/** The context at a leaf of a session, and how its tokens are counted. */
export interface ContextReading extends ContextTokens {
  readonly leafId: string | null;
  /** The messages that the model sees. */
  readonly projection: Projection;
  readonly estimator: TokenEstimator;
  /** Tokens of system prompt and tools: learned, else estimated; 0 if unknown. Slow like `calibration`. */
  overheadTokens(): number;
  /** The calibration from the session's usage. The first call is slow in a long context. */
  calibration(): Calibration | undefined;
}

/**
 * Reads the size of the context. The usage of an answer counts only if no compaction, edit or undo came after it.
 */
export function readContext(options: ReadContextOptions): ContextReading {
  const { session, leafId = session.leafId, fixedTexts, estimator: asked = "calibrated" } = options;
  const place = { session, leafId, projection: session.projection(leafId) };
  const { calibration, ...counting } = countingAt(place, asked, options.model);
  const estimator = typeof asked === "string" ? counting.estimator : asked;
  const overheadTokens = () => {
    const learned = calibration();
    if (fixedTexts === undefined || (learned?.samples ?? 0) > 0) return learned?.overheadTokens ?? 0;
    return fixedTokens(fixedTexts(), counting.estimator);
  };
  const tokens = contextTokens(place, { estimator, overheadTokens });
  return { ...tokens, leafId, projection: place.projection, estimator, overheadTokens, calibration };
}

/** The size of the context by its latest usage, else by estimate, without learned corrections. */
export function plainTokens(of: Pick<ReadContextOptions, "session" | "fixedTexts" | "model">): number {
  const { session, fixedTexts, model } = of;
  const place = { session, leafId: session.leafId, projection: session.projection() };
  const overheadTokens = () => fixedTokens(fixedTexts?.() ?? [], tokenEstimator);
  const estimator = estimators.calibrated[getsImages(model) ? "withImages" : "withoutImages"];
  return contextTokens(place, { estimator, overheadTokens }).tokens;
}

/** A leaf of a session and its context. */
interface Place {
  session: Session;
  leafId: string | null;
  projection: Projection;
}

/** Cached values for a list of items. A list never changes. */
interface KnownContext {
  /** By base estimator. */
  countings: Map<TokenEstimator, Counting>;
  reading?: {
    leafId: string | null;
    estimator: TokenEstimator;
    overheadTokens: number;
    tokens: ContextTokens;
  };
}

const contexts = new WeakMap<readonly ProjectionItem[], KnownContext>();

function knownContext({ projection: { items } }: Place): KnownContext {
  const known = contexts.get(items) ?? { countings: new Map() };
  contexts.set(items, known);
  return known;
}

function contextTokens(
  place: Place,
  { estimator, overheadTokens }: Pick<ContextReading, "estimator" | "overheadTokens">,
): ContextTokens {
  const { leafId, projection } = place;
  const context = knownContext(place);
  const known = context.reading;
  if (known?.leafId === leafId && known.estimator === estimator) {
    const { tokens } = known;
    if (tokens.source === "usage" || known.overheadTokens === overheadTokens()) return tokens;
  }
  const messages = projection.items.map((item) => item.message);
  const tokens = estimateContextTokens({ messages, estimator, isStale: staleItems(place), overheadTokens });
  const overhead = tokens.source === "usage" ? 0 : overheadTokens();
  context.reading = { leafId, estimator, overheadTokens: overhead, tokens };
  return tokens;
}

/**
 * Returns a test for items that are older than a change of the context. After an undo, only the answers between
 * compaction and undo are stale; a redo makes them fresh again.
 */
function staleItems({ session, leafId, projection }: Place): (index: number) => boolean {
  const { items } = projection;
  const fresh = new Set<number>();
  const toggled = new Set<string>();
  let at = items.length - 1;
  for (const entry of session.tail(leafId, projection)) {
    if (at < 0) break;
    const compactionId = entry.type === "compaction" ? entry.id : compactionChange(entry)?.compactionId;
    if (compactionId !== undefined) {
      if (!toggled.delete(compactionId)) toggled.add(compactionId);
    } else if (changesContext(entry)) break;
    if (entry.type === "compaction" && toggled.size > 0) break;
    if (items[at]?.entryId !== entry.id) continue;
    if (toggled.size === 0) fresh.add(at);
    at -= 1;
  }
  return (index) => !fresh.has(index);
}

/** Cache by list of texts, which seldom changes. */
const fixed = new WeakMap<readonly string[], { estimator: TokenEstimator; tokens: number }>();

function fixedTokens(texts: readonly string[], estimator: TokenEstimator): number {
  const known = fixed.get(texts);
  if (known?.estimator === estimator) return known.tokens;
  const tokens = texts.reduce((sum, text) => sum + estimator.text(text), 0);
  fixed.set(texts, { estimator, tokens });
  return tokens;
}

/** The estimator and its calibration. */
type Counting = Pick<ContextReading, "estimator" | "calibration">;

/** The calibrated estimator learns from the session's usage. A plain one uses only a recorded calibration. */
function countingAt(
  place: Place,
  asked: NonNullable<ReadContextOptions["estimator"]>,
  model: ReadContextOptions["model"],
): Counting {
  const name = typeof asked === "string" ? asked : "calibrated";
  const base = estimators[name][getsImages(model) ? "withImages" : "withoutImages"];
  if (name !== "calibrated") return { estimator: base, calibration: () => recordedCalibration(place) };
  const { countings } = knownContext(place);
  const known = countings.get(base) ?? calibratedCounting(place, base);
  countings.set(base, known);
  return known;
}

function getsImages(model: ReadContextOptions["model"]): boolean {
  return model?.input === undefined || model.input.includes("image");
}

/** Approximate tokens of the text that replaces an image for a model without images. */
const OMITTED_IMAGE_TOKENS = 12;

function forImages(withImages: TokenEstimator): Record<"withImages" | "withoutImages", TokenEstimator> {
  const message = (each: Message) =>
    withImages.message(each) - imageCount(each) * (IMAGE_TOKENS - OMITTED_IMAGE_TOKENS);
  return { withImages, withoutImages: { ...withImages, message } };
}

/** Cache by message, because the context is counted before every request. */
const counted = new WeakMap<Message, number>();
const imageful: TokenEstimator = {
  ...tokenEstimator,
  message(message) {
    const tokens = counted.get(message) ?? tokenEstimator.message(message);
    counted.set(message, tokens);
    return tokens;
  },
};

/** The estimators without a calibration, by the name in the settings. */
const estimators = {
  calibrated: forImages(imageful),
  chars4: forImages(chars4Estimator),
  chars4Floor: forImages(chars4FloorEstimator),
};

function calibratedCounting(place: Place, base: TokenEstimator): Counting {
  let cached: Calibration | undefined;
  const calibration = () => {
    cached ??= learnedCalibration(place, base);
    return cached;
  };
  return {
    calibration,
    estimator: {
      name: "calibrated",
      text: (each) => Math.ceil(base.text(each) * calibration().ratio),
      message(each) {
        const imageTokens = base === imageful ? imageCount(each) * IMAGE_TOKENS : 0;
        return imageTokens + Math.ceil((base.message(each) - imageTokens) * calibration().ratio);
      },
    },
  };
}

function withoutImages(message: Message): Message {
  if (imageCount(message) === 0) return message;
  const { content } = message as { content: { type: string }[] };
  return { ...message, content: content.filter(({ type }) => type !== "image") } as Message;
}

function imageCount(message: Message): number {
  const content = "content" in message && Array.isArray(message.content) ? message.content : [];
  return content.filter((block) => block?.type === "image").length;
}

/** With fewer answers, the calibration before the compaction is better. */
const ENOUGH_SAMPLES = 4;

/** The calibration from usage after the latest change of the context, or the recorded one if there are too few answers. */
function learnedCalibration(place: Place, base: TokenEstimator): Calibration {
  const { items } = place.projection;
  const prior = recordedCalibration(place);
  const found = calibrate({
    messages: items.map(({ message }) => (base === imageful ? message : withoutImages(message))),
    base: imageful,
    isStale: staleItems(place),
    prior,
  });
  return found.samples >= ENOUGH_SAMPLES ? found : (prior ?? found);
}

/** Counts the messages of the context, one per step, so that a later estimate takes no time. */
export function* countAhead(session: Session): Generator<void> {
  for (const { message } of session.projection().items) {
    if (counted.has(message)) continue;
    imageful.message(message);
    yield;
  }
}

/** An estimate can be this many times too low or too high. */
export const MAX_ESTIMATE_ERROR = 2.5;
/** Two counts of one context by a provider differ by less. */
export const MAX_COUNT_ERROR = 1.25;

/** The newest stored calibration on the path that no usage contradicts. */
function recordedCalibration({ session, leafId, projection }: Place): Calibration | undefined {
  for (const entry of session.tail(leafId, projection)) {
    const known = calibrationIn(entry);
    if (known === undefined) continue;
    // Reads only entries that the model still sees, so that opening a session reads nothing more.
    const verdict = verdicts.get(entry) ?? contradicts(session, entry);
    verdicts.set(entry, verdict);
    if (!verdict) return known;
  }
  return undefined;
}

/** Cache of contradicted calibrations: records and their ancestors never change. */
const verdicts = new WeakMap<Entry, boolean>();

function calibrationIn(entry: Entry): Calibration | undefined {
  return entry.type === "compaction" ? manifestOf(entry)?.calibration : besideOf(entry)?.calibration;
}

/**
 * True for a stored calibration that usage rules out: its overhead, or the size of the context that it was learned from,
 * is above the usage of the answer before it and everything since. Older versions stored the claims of refusals.
 */
function contradicts(session: Session, record: Entry): boolean {
  const calibration = calibrationIn(record);
  if (calibration === undefined) return false;
  const { ratio, overheadTokens } = calibration;
  if (ratio > MAX_ESTIMATE_ERROR || ratio < 1 / MAX_ESTIMATE_ERROR) return true;
  const manifest = record.type === "compaction" ? manifestOf(record) : undefined;
  let sinceTokens = record.type === "compaction" ? tokenEstimator.text(String(record.summary)) : 0;
  let claimedTokens = Math.max(overheadTokens, manifest?.tokensBefore ?? 0);
  for (const entry of olderEntries(session, record)) {
    const message = projectEntry(entry)?.message;
    if (message !== undefined && isGoodAnswer(message))
      return claimedTokens > usageTokens(message.usage) * MAX_COUNT_ERROR + sinceTokens * MAX_ESTIMATE_ERROR;
    // A record that repeats an older one has its verdict.
    if (calibrationIn(entry)?.overheadTokens === overheadTokens) return contradicts(session, entry);
    if (changesContext(entry)) claimedTokens = overheadTokens;
    else if (message !== undefined) sinceTokens += tokenEstimator.message(message);
  }
  // Without an answer, only a claim is in doubt: older versions stored claims after an overflow.
  const mayBeClaimed = manifest?.reason === "overflow" && manifest.isMeasured !== true;
  return mayBeClaimed && overheadTokens > UNSEEN_TOKENS + sinceTokens * MAX_ESTIMATE_ERROR;
}

/** Maximum entries to search for an answer: a damaged file may contain a cycle. */
const MAX_OLDER_ENTRIES = 1_000;

/** The entries before a record, newest first. */
function* olderEntries(session: Session, record: Entry): Generator<Entry> {
  let keptFrom: string | undefined;
  let entry: Entry | undefined = record;
  for (let steps = 0; steps < MAX_OLDER_ENTRIES; steps += 1) {
    if (entry.type === "compaction") keptFrom ??= entry.firstKeptEntryId;
    if (entry.parentId === null || entry.id === keptFrom) return;
    entry = session.entry(entry.parentId);
    if (entry === undefined) return;
    yield entry;
  }
}

/** True for an entry that makes earlier usage useless for the size of the context. */
function changesContext(entry: Entry): boolean {
  if (compactionChange(entry) !== undefined) return true;
  if (pinChange(entry)?.isPinned === false) return true;
  return entry.type === "compaction" || entry.type === "context_edit";
}
