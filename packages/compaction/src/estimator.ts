import {
  byScriptEstimator,
  type Calibration,
  calibrate,
  chars4Estimator,
  chars4FloorEstimator,
  IMAGE_TOKENS,
  type Message,
  type TokenEstimator,
} from "@bonsai-agent/messages";
import type { ProjectionItem, Session } from "@bonsai-agent/session";
import { recordedCalibration } from "./calibration-record.ts";
import { staleCount } from "./context-meter.ts";
import type { CompactionSettings } from "./settings-schema.ts";

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
