import { summariserFor } from "@bonsai-agent/agent";
import { type CompactionPreparation, summariseEntries, summarisePreparation } from "@bonsai-agent/compaction";
import type { CustomCompaction, Summariser } from "@bonsai-agent/extension";
import {
  type AssistantMessage,
  BonsaiError,
  callsIn,
  type Message,
  messageText,
  type Usage,
} from "@bonsai-agent/messages";
import type { Entry } from "@bonsai-agent/session";
import { originalPreparation } from "../events.ts";
import { bonsaiModel, type GivenModel } from "../models/model.ts";
import { clientWith, contextInUse, isHostsKey } from "../models/requests.ts";
import { prepareBranchEntries } from "./compactions.ts";

type Headers = Readonly<Record<string, string>>;

/** How an extension may ask a model itself. */
type StreamFn = (model: GivenModel, context: object, options: object) => Streamed | Promise<Streamed>;
interface Streamed {
  result(): Promise<AssistantMessage>;
}

/**
 * The summary that Bonsai itself would have made, by a model of the extension's choice. The arguments are pi's; those
 * behind the signal set up pi's own requests. Of a preparation that was put together by hand, its messages are summarised.
 * @throws BonsaiError `summary_failed`
 */
export async function compact(
  preparation: CompactionPreparation,
  model: GivenModel,
  apiKey?: string,
  headers?: Headers,
  customInstructions?: string,
  signal?: AbortSignal,
  _thinkingLevel?: string,
  streamFn?: StreamFn,
): Promise<CustomCompaction> {
  const summariser = await summariserOf(model, { apiKey, headers, streamFn });
  const asked = { summariser, customInstructions, signal };
  try {
    const { compaction } = await summarisePreparation({
      preparation: originalPreparation(preparation),
      ...asked,
    });
    return compaction;
  } catch (error) {
    if (!BonsaiError.is(error) || error.code !== "preparation_unknown") throw error;
    return compactionByHand(preparation, asked);
  }
}

async function compactionByHand(
  preparation: CompactionPreparation,
  asked: Omit<Parameters<typeof summariseEntries>[0], "entries">,
): Promise<CustomCompaction> {
  const { messagesToSummarize, turnPrefixMessages = [], previousSummary } = preparation;
  const { firstKeptEntryId, tokensBefore } = preparation;
  const entries = entriesOf([...messagesToSummarize, ...turnPrefixMessages], previousSummary);
  const { details, usage } = await summariseEntries({ entries, ...asked });
  const { prose, readFiles, modifiedFiles } = details;
  const files = { readFiles, modifiedFiles };
  return { summary: prose, firstKeptEntryId, tokensBefore, details: files, ...(usage && { usage }) };
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
  headers?: Headers,
  signal?: AbortSignal,
  customInstructions?: string,
  previousSummary?: string,
  thinkingLevel?: string,
  streamFn?: StreamFn,
];

export async function generateSummaryWithUsage(
  ...args: SummaryArguments
): Promise<{ text: string; usage?: Usage }> {
  const [messages, model, , apiKey, headers, signal, customInstructions, previousSummary, , streamFn] = args;
  const { summary, usage } = await summariseEntries({
    entries: entriesOf(messages, previousSummary),
    summariser: await summariserOf(model, { apiKey, headers, streamFn }),
    customInstructions,
    signal,
  });
  return { text: summary, ...(usage === undefined ? {} : { usage }) };
}

interface BranchSummaryOptions {
  model: GivenModel;
  apiKey?: string;
  headers?: Headers;
  signal?: AbortSignal;
  customInstructions?: string;
  replaceInstructions?: boolean;
  streamFn?: StreamFn;
}

/** The summary of a branch that Bonsai would have made when it is left, or why there is none. Never throws. */
export async function generateBranchSummary(entries: readonly Entry[], options: BranchSummaryOptions) {
  const { model, customInstructions, replaceInstructions, signal } = options;
  if (prepareBranchEntries(entries).messages.length === 0)
    return { error: "These entries have no messages to summarise." };
  try {
    const summariser = await summariserOf(model, options);
    const asked = { entries, summariser, customInstructions, replaceInstructions, signal };
    const { summary, details, usage } = await summariseEntries(asked);
    const { readFiles, modifiedFiles } = details;
    return { summary, readFiles, modifiedFiles, ...(usage === undefined ? {} : { usage }) };
  } catch (error) {
    if (signal?.aborted) return { aborted: true };
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

interface Asking {
  apiKey?: string | undefined;
  headers?: Headers | undefined;
  streamFn?: StreamFn | undefined;
}

async function summariserOf(given: GivenModel, { apiKey, headers, streamFn }: Asking): Promise<Summariser> {
  const model = bonsaiModel(given);
  if (streamFn !== undefined) return summariserThrough(streamFn, given, { apiKey, headers });
  const context = contextInUse();
  if (context !== undefined && (await isHostsKey(model, apiKey))) return context.summariserFor(model);
  return summariserFor({
    models: clientWith(apiKey),
    model: { ...model, headers: { ...model.headers, ...headers } },
  });
}

function summariserThrough(streamFn: StreamFn, given: GivenModel, options: object): Summariser {
  const { provider, id, contextWindow, maxOutputTokens } = bonsaiModel(given);
  return {
    name: `${provider}/${id}`,
    contextWindow,
    maxOutputTokens,
    async summarise({ prompt, maxSummaryTokens, signal }) {
      const messages = [{ role: "user", content: prompt.user, timestamp: Date.now() }];
      const context = { systemPrompt: prompt.system, messages };
      const stream = await streamFn(given, context, { ...options, signal, maxTokens: maxSummaryTokens });
      const answer = await stream.result();
      const { stopReason, errorMessage, usage } = answer;
      return {
        text: messageText(answer),
        stopReason: callsIn(answer).length > 0 ? "toolUse" : (stopReason as "stop"),
        ...(errorMessage === undefined ? {} : { errorMessage }),
        ...(usage === undefined ? {} : { usage }),
      };
    },
  };
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
