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
  type Model,
  type TokenEstimator,
} from "@bonsai-agent/messages";
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
  /** Whose context is read. */
  session: Session;
  /** Name the estimator. */
  settings: CompactionSettings;
  /** Default: the session's leaf. */
  leafId?: string | null | undefined;
  /**
   * What every request holds beside its messages, system prompt and tools: asked for, and counted, until usage has taught
   * how much that is. Default: not known, and counted as nothing.
   */
  fixedTexts?: (() => readonly string[]) | undefined;
  /** The model of the next request. Images count only if it accepts them. Default: it does. */
  model?: ModelInput | (() => ModelInput) | undefined;
  /** Default: as the settings say. */
  estimator?: TokenEstimator | undefined;
}

type ModelInput = Pick<Model, "input">;

/** What the context at one place of a session holds, and how its tokens are counted. */
export interface ContextReading extends ContextTokens {
  readonly leafId: string | null;
  /** What the model sees there. */
  readonly projection: Projection;
  readonly estimator: TokenEstimator;
  /** Of system prompt and tools: as learned, else by estimate where they were given; 0 where unknown. As `calibration`. */
  overheadTokens(): number;
  /** What the session's usage has taught. The first call takes its time in a long context. */
  calibration(): Calibration | undefined;
}

/**
 * Reads how many tokens the context holds. An answer's usage is trusted only if the model saw for it what stands before it
 * now: not if a compaction, an edit or an undo came after it and still counts.
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

/** The context by its latest usage, else by estimate alone: nothing that was learned earlier. */
export function plainTokens({ session, fixedTexts, model }: ReadContextOptions): number {
  const place = { session, leafId: session.leafId, projection: session.projection() };
  const overheadTokens = () => fixedTokens(fixedTexts?.() ?? [], byScriptEstimator);
  const estimator = getsImages(model) ? byScriptEstimator : imagelessEstimator(byScriptEstimator);
  return contextTokens(place, { estimator, overheadTokens }).tokens;
}

/** A leaf of a session, and what the model sees there. */
interface Place {
  session: Session;
  leafId: string | null;
  projection: Projection;
}

/** A list of items never changes, so that what was read of it once need not be read again. */
const readings = new WeakMap<
  readonly ProjectionItem[],
  { leafId: string | null; estimator: TokenEstimator; overheadTokens: number; tokens: ContextTokens }
>();

function contextTokens(
  place: Place,
  { estimator, overheadTokens }: Pick<ContextReading, "estimator" | "overheadTokens">,
): ContextTokens {
  const { leafId, projection } = place;
  const known = readings.get(projection.items);
  if (known?.leafId === leafId && known.estimator === estimator) {
    const { tokens } = known;
    if (tokens.source === "usage" || known.overheadTokens === overheadTokens()) return tokens;
  }
  const messages = projection.items.map((item) => item.message);
  const tokens = estimateContextTokens({ messages, estimator, isStale: staleItems(place), overheadTokens });
  const overhead = tokens.source === "usage" ? 0 : overheadTokens();
  readings.set(projection.items, { leafId, estimator, overheadTokens: overhead, tokens });
  return tokens;
}

/**
 * Which items are older than a change of the context that still counts. An undo gives back what stood before the
 * compaction, so that only the answers between the two are stale; a redo gives those back.
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

/** They are asked for before every request, and seldom change. */
const fixed = new WeakMap<readonly string[], { estimator: TokenEstimator; tokens: number }>();

function fixedTokens(texts: readonly string[], estimator: TokenEstimator): number {
  const known = fixed.get(texts);
  if (known?.estimator === estimator) return known.tokens;
  const tokens = texts.reduce((sum, text) => sum + estimator.text(text), 0);
  fixed.set(texts, { estimator, tokens });
  return tokens;
}

/** How tokens are counted, and what was learned for it. */
type Counting = Pick<ContextReading, "estimator" | "calibration">;

/** What a context taught; its list of items is another one after every change. */
const learned = new WeakMap<readonly ProjectionItem[], Counting>();
const learnedWithoutImages = new WeakMap<readonly ProjectionItem[], Counting>();

/**
 * The estimator that the settings name; the calibrated one learns from the session's usage. A plain one learns nothing,
 * but what a compaction found beside the messages is there still.
 */
function countingAt(place: Place, { estimator }: CompactionSettings, withImages: boolean): Counting {
  if (estimator !== "calibrated") {
    const plain = estimator === "chars4" ? chars4Estimator : chars4FloorEstimator;
    return {
      estimator: withImages ? plain : imagelessEstimator(plain),
      calibration: () => recordedCalibration(place),
    };
  }
  const { items } = place.projection;
  const known = withImages ? learned : learnedWithoutImages;
  const counting =
    known.get(items) ?? calibratedCounting(place, withImages ? imageful : imagelessEstimator(imageful));
  known.set(items, counting);
  return counting;
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

/** A calibration from fewer answers says less than the one before the compaction did; more correct what it knew. */
const ENOUGH_SAMPLES = 4;

/** From the usage after the latest change of the context; where that is too little, what was known then. */
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

/** The context is looked at before every request, and a message counts the same each time. */
const counted = new WeakMap<Message, number>();
const imageful: TokenEstimator = {
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
    imageful.message(message);
    yield;
  }
}

/** The entry to write, where no manifest of ours can keep it, beside a change that makes all earlier usage count no more; none where nothing is known. */
export function calibrationDrafts(calibration: Calibration | undefined): EntryDraftWithId[] {
  if (calibration === undefined || calibration.samples === 0) return [];
  return [{ type: "custom", customType: customTypes.calibration, data: calibration }];
}
