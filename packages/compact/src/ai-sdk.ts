import {
  asSchema,
  gateway,
  type LanguageModel,
  type LanguageModelMiddleware,
  type ModelMessage,
  type OutputInterface,
  type PrepareStepFunction,
  type ToolLoopAgentSettings,
  type ToolSet,
  wrapLanguageModel,
} from "ai";
import { CallCompaction, type CompactionCallOptions } from "./call-compaction.ts";
import { type FailedStream, openStream } from "./stream-opening.ts";

/** Options of `withCompaction`. */
export type WithCompactionOptions = CompactionCallOptions;

/** The part of an agent's settings that `withCompaction` changes. */
export interface CompactableSettings {
  model: LanguageModel;
  // biome-ignore lint/suspicious/noExplicitAny: the agent's own types decide
  prepareStep?: PrepareStepFunction<any, any> | undefined;
}

/**
 * Keeps the messages of a tool loop within the model's window. For the settings of `ToolLoopAgent`, `generateText` and
 * `streamText`. Before each step, old tool results are masked and old messages summarised if needed. A request that the
 * provider refuses as too long is compacted and sent again, once. A `prepareStep` of the settings runs first.
 */
export function withCompaction<
  CALL_OPTIONS = never,
  TOOLS extends ToolSet = Record<never, never>,
  CONTEXT extends Record<string, unknown> = Record<string, unknown>,
  OUTPUT extends OutputInterface = never,
>(
  settings: ToolLoopAgentSettings<CALL_OPTIONS, TOOLS, CONTEXT, OUTPUT> & {
    prompt?: never;
    messages?: never;
  },
  options?: WithCompactionOptions,
): ToolLoopAgentSettings<CALL_OPTIONS, TOOLS, CONTEXT, OUTPUT>;
export function withCompaction<Settings extends CompactableSettings>(
  settings: Settings,
  options?: WithCompactionOptions,
): Omit<Settings, "prepareStep"> & Required<Pick<CompactableSettings, "prepareStep">>;
export function withCompaction(
  // biome-ignore lint/suspicious/noExplicitAny: the overloads have the types
  settings: any,
  options: WithCompactionOptions = {},
  // biome-ignore lint/suspicious/noExplicitAny: see above
): any {
  const calls = new WeakMap<object, CallCompaction>();
  const { prepareStep: own, tools, abortSignal: signal } = settings as CompactableSettings & CallSettings;
  let toolTexts: Promise<string[]> | undefined;
  const prepareStep: PrepareStepFunction<ToolSet> = async (step) => {
    const call = calls.get(step.steps) ?? new CallCompaction(options);
    calls.set(step.steps, call);
    const prepared = await own?.(step);
    const model = resolved(prepared?.model ?? step.model);
    const given = prepared?.messages ?? step.messages;
    toolTexts ??= textsOf(tools ?? {});
    const instructions = prepared?.instructions ?? step.instructions ?? "";
    const messages = await call.compact({
      messages: given,
      model,
      usage: step.steps.at(-1)?.usage,
      fixedTexts: [JSON.stringify(instructions), ...(await toolTexts)],
      signal,
    });
    const changed = messages === given ? {} : { messages: messages as ModelMessage[] };
    return { ...prepared, ...changed, model: recovering(model, call) };
  };
  return { ...settings, prepareStep };
}

interface CallSettings {
  tools?: ToolSet;
  abortSignal?: AbortSignal;
}

/** The declarations of tools, which are part of every request. */
async function textsOf(tools: ToolSet): Promise<string[]> {
  return Promise.all(
    Object.entries(tools).map(async ([name, { description, inputSchema }]) => {
      const schema = inputSchema === undefined ? {} : await asSchema(inputSchema).jsonSchema;
      return JSON.stringify({ name, description, schema });
    }),
  );
}

type ModelObject = Exclude<LanguageModel, string>;

function resolved(model: LanguageModel): ModelObject {
  if (typeof model !== "string") return model;
  const provider = globalThis.AI_SDK_DEFAULT_PROVIDER ?? gateway;
  return provider.languageModel(model);
}

/** The model with a retry after a refusal as too long. */
function recovering(model: ModelObject, call: CallCompaction): LanguageModel {
  const middleware: LanguageModelMiddleware = {
    specificationVersion: "v4",
    async wrapGenerate({ doGenerate, params, model }) {
      try {
        return await doGenerate();
      } catch (error) {
        const shorter = await call.recover(error, params, model);
        if (shorter === undefined) throw error;
        return model.doGenerate(shorter);
      }
    },
    async wrapStream({ doStream, params, model }) {
      const opened = await doStream().then(openStream, (error: unknown): FailedStream => ({ error }));
      if (!("error" in opened)) return opened;
      const shorter = await call.recover(opened.error, params, model);
      if (shorter !== undefined) return model.doStream(shorter);
      if (opened.failed === undefined) throw opened.error;
      return opened.failed;
    },
  };
  return wrapLanguageModel({ model, middleware });
}
