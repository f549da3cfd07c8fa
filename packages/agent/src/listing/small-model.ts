import { type Message, messageText, textHead } from "@bonsai-agent/messages";
import type { CatalogueModel, ModelClient } from "@bonsai-agent/models";
import type { Session } from "@bonsai-agent/session";
import type { AgentNotice } from "../notice.ts";
import { completedAnswer } from "../run/summariser.ts";
import { withoutSecrets } from "./title-text.ts";

export interface ListingOptions {
  session: Session;
  models: ModelClient;
  /** Writes the texts. Default: they quote the session. */
  smallModel?: CatalogueModel | undefined;
  onNotice?: (notice: AgentNotice) => void;
}

interface SmallModelQuestion {
  /** Kind of the stored usage. */
  kind: "title" | "session_digest";
  instructions: string;
  /** Input of the question, by tag. */
  material: Readonly<Record<string, string>>;
  maxOutputTokens: number;
  signal: AbortSignal;
  /** Called with what went wrong, other than by an abort. */
  onFailed: (error: unknown) => void;
}

/** A few words of the small model about a session; undefined where there are none to be had. Stores what they cost. */
export async function askSmallModel(
  { session, models, smallModel: model }: ListingOptions,
  { kind, instructions, material, maxOutputTokens, signal, onFailed }: SmallModelQuestion,
): Promise<string | undefined> {
  if (model === undefined || signal.aborted) return undefined;
  try {
    const { final, usage } = await completedAnswer(models, {
      model,
      purpose: "title",
      systemPrompt: instructions,
      tools: [],
      messages: [framed(material)],
      maxOutputTokens,
      signal,
    });
    signal.throwIfAborted();
    if (final.type === "error") throw new Error(final.failure?.message ?? "The model gave no answer.");
    session.append({ type: "usage", kind, provider: model.provider, model: model.id, usage });
    return messageText(final.message);
  } catch (error) {
    if (!signal.aborted) onFailed(error);
    return undefined;
  }
}

function framed(material: Readonly<Record<string, string>>): Message {
  const blocks = Object.entries(material).map(([tag, text]) => `<${tag}>\n${text}\n</${tag}>`);
  return { role: "user", content: blocks.join("\n\n"), timestamp: 0 };
}

const SHOWN_CHARACTERS = 2_000;
/** A secret at the cut must still be seen whole, or almost. */
const BEYOND_CUT_CHARACTERS = 1_000;

/** How a text begins, as the model is shown it: without what may be a secret. */
export function shownBeginning(text: string): string {
  return textHead(withoutSecrets(textHead(text, SHOWN_CHARACTERS + BEYOND_CUT_CHARACTERS)), SHOWN_CHARACTERS);
}
