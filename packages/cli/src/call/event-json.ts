import { type LifecycleEvents, lifecycleEventRules } from "@bonsai-agent/agent";
import type { Lifecycle, PayloadOf } from "@bonsai-agent/lifecycle";
import type { CatalogueModel } from "@bonsai-agent/models";
import { knownError } from "./failure.ts";

type Name = keyof LifecycleEvents & string;
type Payload<Event extends Name> = PayloadOf<LifecycleEvents[Event]>;

export interface EventJson {
  type: string;
  [field: string]: unknown;
}

/** Events whose payload grows with the session or is no data. The others are written in full, without their signal. */
const shortened: { [Event in Name]?: (payload: Payload<Event>) => Record<string, unknown> } = {
  message_update: ({ assistantMessageEvent: { message: _message, ...update } }) => ({ update }),
  context: ({ messages }) => ({ messageCount: messages.length }),
  before_provider_request: () => ({}),
  after_provider_response: ({ status }) => ({ status }),
  session_before_compact: ({ preparation, reason, willRetry, customInstructions }) => ({
    reason,
    willRetry,
    customInstructions,
    firstKeptEntryId: preparation.firstKeptEntryId,
    isSplitTurn: preparation.isSplitTurn,
    tokensBefore: preparation.tokensBefore,
    messageCount: preparation.messagesToSummarize.length + preparation.turnPrefixMessages.length,
  }),
  session_before_tree: ({ preparation: { entriesToSummarize, ...preparation } }) => ({
    ...preparation,
    entryIds: entriesToSummarize.map(({ id }) => id),
  }),
  session_compact_failed: ({ type: _, error, ...failed }) => ({
    ...failed,
    ...(error === undefined ? {} : { error: errorJson(error) }),
  }),
  model_select: ({ model, previousModel, source }) => ({
    model: modelJson(model),
    previousModel: previousModel && modelJson(previousModel),
    source,
  }),
  agent_end: ({ messages, result: { error, ...result } }) => ({
    messages,
    result: error === undefined ? result : { ...result, error: errorJson(error) },
  }),
};

export function eventJson(name: Name, payload: object): EventJson {
  const short = shortened[name] as ((payload: object) => Record<string, unknown>) | undefined;
  // Check this first: reading all fields would compute lazy ones.
  if (short !== undefined) return { type: name, ...short(payload) };
  const { type: _type, signal: _signal, ...fields } = payload as Record<string, unknown>;
  return { type: name, ...fields };
}

/** Writes every event of the lifecycle as JSON. Events wait for `write`. */
export function writeEvents(
  lifecycle: Lifecycle<LifecycleEvents>,
  write: (event: EventJson) => Promise<void> | undefined,
): void {
  for (const name of Object.keys(lifecycleEventRules) as Name[]) {
    const handler = async (payload: object): Promise<undefined> => {
      await write(eventJson(name, payload));
      return undefined;
    };
    lifecycle.on(name, handler as never, { source: "json" } as never);
  }
}

export interface ErrorJson {
  code: string;
  message: string;
  hint: string;
}

export function errorJson(error: unknown): ErrorJson {
  const { code, message, hint } = knownError(error);
  return { code, message, hint };
}

/** These fields may hold secrets or name their places. */
const HIDDEN_FIELDS = ["headers", "apiKeyEnv", "needsKey", "login", "authHeader", "baseUrl"] as const;

export type ModelJson = Omit<CatalogueModel, (typeof HIDDEN_FIELDS)[number]>;

export function modelJson(model: CatalogueModel): ModelJson {
  const shown: Partial<CatalogueModel> = { ...model };
  for (const field of HIDDEN_FIELDS) delete shown[field];
  return shown as ModelJson;
}
