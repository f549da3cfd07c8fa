import {
  budgetsFor,
  type CompactionSettings,
  contextLimit,
  type ModelSizes,
  readContext,
  settingsForModel,
} from "@bonsai-agent/compaction";
import { isGoodAnswer } from "@bonsai-agent/messages/host";
import { usdText } from "@bonsai-agent/messages/numbers";
import type { Entry, Session } from "@bonsai-agent/session";
import { counted, shortTokens } from "./numbers.ts";

type ContextLimit = NonNullable<ReturnType<typeof contextLimit>>;

interface EconomyTextOptions {
  session: Session;
  /** Default: the session's leaf. */
  leafId?: string | null | undefined;
  settings: CompactionSettings;
  model: ModelSizes;
  /** Milliseconds since the epoch. */
  nowMs: number;
  /** As `readContext` takes it. */
  fixedTexts?: (() => readonly string[]) | undefined;
}

/**
 * The size at which the economy compacts, and the money that this saves: "compacts at 64k of 200k: about $7.10 a day less". With the
 * economy off, what `auto` would do: "would compact at ...". Undefined for an unknown window. Reads the whole path.
 */
export function economyText(options: EconomyTextOptions): string | undefined {
  const { session, leafId = session.leafId, nowMs, fixedTexts } = options;
  const settings = { ...settingsForModel(options.settings, options.model), models: {} };
  const model = { ...options.model, compaction: undefined };
  const isOff = settings.economy === "off";
  const asked = isOff ? { ...settings, economy: "auto" as const } : settings;
  const reading = readContext({ session, leafId, estimator: settings.estimator, fixedTexts, model });
  const budgets = budgetsFor({ settings, model });
  const limit = contextLimit({ settings: asked, model, budgets, reading, nowMs });
  if (limit === undefined) return undefined;
  const { compactAboveTokens, thresholdTokens, isExpired, size } = limit;
  const usualTokens = size?.tokens ?? compactAboveTokens;
  const verb = isOff ? "would compact" : "compacts";
  const window = shortTokens(model.contextWindow ?? 0);
  if (usualTokens >= thresholdTokens)
    return `${verb} at the threshold, ${shortTokens(thresholdTokens)} of ${window}: ${whyThere(limit, model)}`;
  const now = isExpired
    ? `; now at ${shortTokens(compactAboveTokens)}, because the provider's cache has expired`
    : "";
  return `${verb} at ${shortTokens(usualTokens)} of ${window}${savingText(limit, session.path(leafId))}${now}`;
}

function whyThere({ size }: ContextLimit, { usdPerMillionTokens }: ModelSizes): string {
  if (usdPerMillionTokens === undefined) return "the model's price is unknown";
  return size === undefined ? "the model is free" : "no smaller size is cheaper";
}

/** Savings below one cent a day are not shown. */
const MIN_USD = 0.01;

const DAY_MS = 24 * 60 * 60_000;

/** The saving against the threshold in a day like the latest: the 24 hours up to the latest answer. */
function savingText({ size, thresholdTokens }: ContextLimit, path: readonly Entry[]): string {
  if (size === undefined) return "";
  const messages = path.flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
  const times = messages.filter(isGoodAnswer).map(({ timestamp }) => timestamp);
  const latest = times.at(-1) ?? 0;
  const requests = times.filter((atMs) => latest - atMs < DAY_MS && atMs <= latest).length;
  const usd = size.usdOver(requests, thresholdTokens) - size.usdOver(requests, size.tokens);
  const day = `a day of ${counted(requests, "request")}`;
  if (Math.abs(usd) < MIN_USD) return `: ${day} does not reach this size`;
  return `: about ${usdText(Math.abs(usd))} a day ${usd > 0 ? "less" : "more"} (${counted(requests, "request")})`;
}
