import { summariserFor } from "@bonsai-agent/agent";
import { type CompactionPreparation, summariseEntries, summarisePreparation } from "@bonsai-agent/compaction";
import type { CustomCompaction, Summariser } from "@bonsai-agent/extension";
import type { Message, Usage } from "@bonsai-agent/messages";
import type { Entry } from "@bonsai-agent/session";
import { originalPreparation } from "../events.ts";
import { bonsaiModel, type GivenModel } from "../models/model.ts";
import { clientWith, contextInUse, isHostsKey } from "../models/requests.ts";

/**
 * The summary that Bonsai itself would have made, by a model of the extension's choice. The arguments are pi's; those
 * behind the signal set up pi's own requests.
 * @throws BonsaiError `summary_failed`, `preparation_unknown` for one that was put together by hand
 */
export async function compact(
  preparation: CompactionPreparation,
  model: GivenModel,
  apiKey?: string,
  headers?: Readonly<Record<string, string>>,
  customInstructions?: string,
  signal?: AbortSignal,
): Promise<CustomCompaction> {
  const { compaction } = await summarisePreparation({
    preparation: originalPreparation(preparation),
    summariser: await summariserOf(model, apiKey, headers),
    customInstructions,
    signal,
  });
  return compaction;
}

/** A summary of messages, in the form of Bonsai's summaries of branches. The arguments are pi's. */
export async function generateSummary(...args: SummaryArguments): Promise<string> {
  return (await generateSummaryWithUsage(...args)).text;
}

type SummaryArguments = [
  messages: readonly Message[],
  model: GivenModel,
  reserveTokens?: number,
  apiKey?: string,
  headers?: Readonly<Record<string, string>>,
  signal?: AbortSignal,
  customInstructions?: string,
  previousSummary?: string,
];

export async function generateSummaryWithUsage(
  ...args: SummaryArguments
): Promise<{ text: string; usage?: Usage }> {
  const [messages, model, _reserveTokens, apiKey, headers, signal, customInstructions, previousSummary] =
    args;
  const { summary, usage } = await summariseEntries({
    entries: entriesOf(messages, previousSummary),
    summariser: await summariserOf(model, apiKey, headers),
    customInstructions,
    signal,
  });
  return { text: summary, ...(usage === undefined ? {} : { usage }) };
}

async function summariserOf(
  given: GivenModel,
  apiKey: string | undefined,
  headers: Readonly<Record<string, string>> | undefined,
): Promise<Summariser> {
  const model = bonsaiModel(given);
  const context = contextInUse();
  if (context !== undefined && (await isHostsKey(model, apiKey))) return context.summariserFor(model);
  return summariserFor({
    models: clientWith(apiKey),
    model: { ...model, headers: { ...model.headers, ...headers } },
  });
}

/** The messages as a branch of their own, what was summarised before them at its head. */
function entriesOf(messages: readonly Message[], previousSummary: string | undefined): Entry[] {
  const earlier =
    previousSummary === undefined
      ? []
      : [{ type: "branch_summary", fromId: "earlier", summary: previousSummary }];
  const bodies = [...earlier, ...messages.map((message) => ({ type: "message", message }))];
  const timestamp = new Date().toISOString();
  return bodies.map((body, at) => ({
    ...body,
    id: `m${at}`,
    parentId: at === 0 ? null : `m${at - 1}`,
    timestamp,
  })) as Entry[];
}
