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
} from "@bonsai-agent/messages";
import { chars4FloorEstimator } from "@bonsai-agent/messages/host";
import {
  customTypes,
  type EntryDraftWithId,
  type Projection,
  type ProjectionItem,
  type Session,
} from "@bonsai-agent/session";
import { compactionChange } from "@bonsai-agent/session/host";
import type { CompactionSettings } from "../settings.ts";
import { changesContext, recordedCalibration } from "./recorded-calibration.ts";

export interface ReadContextOptions {
  /** The session of the context. */
  session: Session;
  /** The settings that name the estimator. */
  settings: CompactionSettings;
  /** Default: the session's leaf. */
  leafId?: string | null | undefined;
  /** System prompt and tools of every request. They are estimated until usage shows their size. Default: none. */
  fixedTexts?: (() => readonly string[]) | undefined;
  /** The model of the next request. Images count only if it accepts them. Default: it accepts them. */
  model?: ModelInput | (() => ModelInput) | undefined;
  /** Default: the estimator that the settings name. */
  estimator?: TokenEstimator | undefined;
}

type ModelInput = Pick<Model, "input">;

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
  const { session, settings, fixedTexts, leafId = session.leafId } = options;
  const place = { session, leafId, projection: session.projection(leafId) };
  const counting = countingAt(place, settings, getsImages(options.model));
  const { calibration } = counting;
  const overheadTokens = () => {
    const learned = calibration();
    if (fixedTexts === undefined || (learned?.samples ?? 0) > 0) return learned?.overheadTokens ?? 0;
    return fixedTokens(fixedTexts(), counting.estimator);
  };
  const estimator = options.estimator ?? counting.estimator;
  const tokens = contextTokens(place, { estimator, overheadTokens });
  return { ...tokens, leafId, projection: place.projection, estimator, overheadTokens, calibration };
}

/** The size of the context by its latest usage, else by estimate, without learned corrections. */
export function plainTokens({ session, fixedTexts, model }: ReadContextOptions): number {
  const place = { session, leafId: session.leafId, projection: session.projection() };
  const overheadTokens = () => fixedTokens(fixedTexts?.() ?? [], tokenEstimator);
  const estimator = getsImages(model) ? tokenEstimator : imagelessEstimator(tokenEstimator);
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
  counting?: Counting;
  countingWithoutImages?: Counting;
  reading?: {
    leafId: string | null;
    estimator: TokenEstimator;
    overheadTokens: number;
    tokens: ContextTokens;
  };
}

const contexts = new WeakMap<readonly ProjectionItem[], KnownContext>();

function knownContext({ projection: { items } }: Place): KnownContext {
  const known = contexts.get(items) ?? {};
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

/**
 * The estimator that the settings name. The calibrated one learns from the session's usage. A plain one uses only a
 * recorded calibration.
 */
function countingAt(place: Place, { estimator }: CompactionSettings, withImages: boolean): Counting {
  if (estimator !== "calibrated") {
    const plain = estimator === "chars4" ? chars4Estimator : chars4FloorEstimator;
    return {
      estimator: withImages ? plain : imagelessEstimator(plain),
      calibration: () => recordedCalibration(place),
    };
  }
  const context = knownContext(place);
  if (withImages) {
    context.counting ??= calibratedCounting(place, imageful);
    return context.counting;
  }
  context.countingWithoutImages ??= calibratedCounting(place, imagelessEstimator(imageful));
  return context.countingWithoutImages;
}

function getsImages(model: ReadContextOptions["model"]): boolean {
  const { input } = (typeof model === "function" ? model() : model) ?? {};
  return input === undefined || input.includes("image");
}

/** Approximate tokens of the text that replaces an image for a model without images. */
const OMITTED_IMAGE_TOKENS = 12;
const imageless = new WeakMap<TokenEstimator, TokenEstimator>();

function imagelessEstimator(estimator: TokenEstimator): TokenEstimator {
  const known = imageless.get(estimator) ?? {
    ...estimator,
    message: (each: Message) =>
      estimator.message(each) - imageCount(each) * (IMAGE_TOKENS - OMITTED_IMAGE_TOKENS),
  };
  imageless.set(estimator, known);
  return known;
}

function calibratedCounting(place: Place, base: TokenEstimator): Counting {
  let cached: Calibration | undefined;
  const calibration = () => {
    cached ??= learnedCalibration(place, base);
    return cached;
  };
  const message = (each: Message) => {
    const imageTokens = base === imageful ? imageCount(each) * IMAGE_TOKENS : 0;
    return imageTokens + Math.ceil((base.message(each) - imageTokens) * calibration().ratio);
  };
  const text = (each: string) => Math.ceil(base.text(each) * calibration().ratio);
  return { estimator: { name: "calibrated", text, message }, calibration };
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

/** Counts the messages of the context, one per step, so that a later estimate takes no time. */
export function* countAhead(session: Session): Generator<void> {
  for (const { message } of session.projection().items) {
    if (counted.has(message)) continue;
    imageful.message(message);
    yield;
  }
}

/** The entry that stores the calibration if no manifest can: earlier usage does not count after the change. */
export function calibrationDrafts(calibration: Calibration | undefined): EntryDraftWithId[] {
  if (calibration === undefined || calibration.samples === 0) return [];
  return [{ type: "custom", customType: customTypes.calibration, data: calibration }];
}
