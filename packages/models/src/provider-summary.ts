import { isRecord, type Message, type ProviderSummary } from "@bonsai-agent/messages";
import { withoutProse } from "@bonsai-agent/messages/host";
import { type CatalogueModel, isAtHost, referenceOf } from "./model.ts";
import type { ModelFailure } from "./model-request.ts";

/** The protocols with compaction on the provider's side, and the vendors' own servers. */
const OWN_HOSTS: ReadonlyMap<string, string> = new Map([
  ["anthropic-messages", "api.anthropic.com"],
  ["openai-responses", "api.openai.com"],
]);

/** The compaction on the side of a model's provider. */
export function providerCompactionOf(model: CatalogueModel): {
  unavailable: string | undefined;
  isSealed: boolean;
} {
  return { unavailable: whyNoProviderCompaction(model), isSealed: model.api === "openai-responses" };
}

/**
 * The reason why a model cannot compact on its provider's side; undefined if it can. Servers of others need the user's
 * word: the setting `providerCompaction` in `models.json`.
 */
function whyNoProviderCompaction(model: CatalogueModel): string | undefined {
  const host = OWN_HOSTS.get(model.api);
  if (host === undefined) return `The protocol ${model.api} has no compaction by the provider.`;
  const { providerCompaction } = model.compat ?? {};
  if (providerCompaction === true) return undefined;
  if (providerCompaction === false)
    return `models.json switches the provider's compaction off for ${referenceOf(model)}.`;
  if (!isAtHost(model.baseUrl, host))
    return `Only ${host} is known to compact, and ${referenceOf(model)} has another server.`;
  if (model.api === "anthropic-messages" && !isKnownClaude(model.id))
    return `${referenceOf(model)} is not known to compact on its provider's side.`;
  return undefined;
}

/** Anthropic offers compaction from Claude 4.6 on. */
function isKnownClaude(id: string): boolean {
  const [, major, minor = "0"] = /^claude-(?:[a-z]+-)(\d{1,2})(?:-(\d{1,2}))?(?!\d)/.exec(id) ?? [];
  return major !== undefined && 100 * Number(major) + Number(minor) >= 406;
}

/**
 * Leaves out providers' summaries that this model cannot read, that were refused, or that are not first. Returns the same
 * array if there are none.
 */
export function withReadableSummaries(
  messages: readonly Message[],
  model: CatalogueModel,
  refused: WeakSet<object>,
): readonly Message[] {
  if (!messages.some(hasProviderSummary)) return messages;
  return messages.map((message, index) => {
    if (!hasProviderSummary(message)) return message;
    const isSent = index === 0 && isFor(message.provider, model) && !refused.has(message.provider.items);
    return isSent ? message : withoutProviderSummary(message);
  });
}

/** A summary's message with a provider's own summary. */
export type SummarisedByProvider = Extract<Message, { role: "compactionSummary" }> & {
  provider: ProviderSummary;
};

export function hasProviderSummary(message: Message | undefined): message is SummarisedByProvider {
  return message?.role === "compactionSummary" && message.provider !== undefined;
}

/** The message for models that cannot read the provider's summary. */
export function withoutProviderSummary(message: SummarisedByProvider): Message {
  const { provider: _, ...readable } = message;
  return readable;
}

/** The items of the provider's summary, and the message with the carried data that follows them. */
export function summaryParts<Item>(message: SummarisedByProvider): {
  items: readonly Item[];
  carried: Message;
} {
  return { items: message.provider.items as readonly Item[], carried: withoutProse(message) };
}

function isFor({ api, provider, model: id, items }: ProviderSummary, model: CatalogueModel): boolean {
  const isSame = api === model.api && provider === model.provider && id === model.id;
  return isSame && whyNoProviderCompaction(model) === undefined && areSound(items, api);
}

/** A session file may come from anywhere: its items may not speak for the system. */
function areSound(items: readonly unknown[], api: string): boolean {
  const records = items.filter(isRecord);
  const compactions = records.filter(({ type }) => type === "compaction");
  if (compactions.length !== 1 || records.length !== items.length) return false;
  if (api === "anthropic-messages") return items.length === 1;
  return records.every(({ role }) => role !== "system" && role !== "developer");
}

/**
 * True for a refusal of a provider's own summary. A busy server (`compaction_unavailable`) and a conversation that cannot
 * be compacted say nothing about it.
 */
export function blamesProviderSummary({ code = "", message, status = 400 }: ModelFailure): boolean {
  if (status >= 500 || status === 429) return false;
  if (/^compaction_/.test(code)) return !ABOUT_THE_CONVERSATION.has(code);
  // `rs_` is the id of an answer's thinking.
  if (code === "invalid_encrypted_content") return !/\brs_/.test(message);
  return /\bcompact(?:ion)?\b|compact-20/i.test(message);
}

const ABOUT_THE_CONVERSATION: ReadonlySet<string> = new Set([
  "compaction_unavailable",
  "compaction_incomplete_turn",
  "compaction_nothing_to_summarize",
  "compaction_too_many_tool_references",
  "compaction_failed",
]);
