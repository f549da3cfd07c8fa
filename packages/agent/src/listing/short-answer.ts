import { addUsage, type Message, messageText, type Usage } from "@bonsai-agent/messages";
import { type CatalogueModel, finalEvent, type ModelClient } from "@bonsai-agent/models";

export interface ShortQuestion {
  models: ModelClient;
  model: CatalogueModel;
  instructions: string;
  /** What the question is about, by tag. */
  material: Readonly<Record<string, string>>;
  maxOutputTokens: number;
  signal: AbortSignal;
}

export interface ShortAnswer {
  text: string;
  usage: Usage;
}

/**
 * Asks a small model for a few words about a session.
 * @throws what the model failed with, or the abort's reason.
 */
export async function shortAnswer(question: ShortQuestion): Promise<ShortAnswer> {
  const { models, model, instructions, material, maxOutputTokens, signal } = question;
  const voided: Usage[] = [];
  const final = await finalEvent(
    models.stream({
      model,
      purpose: "title",
      systemPrompt: instructions,
      tools: [],
      messages: [framed(material)],
      maxOutputTokens,
      signal,
      onVoidedUsage: (usage) => voided.push(usage),
    }),
  );
  signal.throwIfAborted();
  if (final.type === "error") throw new Error(final.failure?.message ?? "The model gave no answer.");
  return { text: messageText(final.message), usage: voided.reduce(addUsage, final.message.usage) };
}

function framed(material: Readonly<Record<string, string>>): Message {
  const blocks = Object.entries(material).map(([tag, text]) => `<${tag}>\n${text}\n</${tag}>`);
  return { role: "user", content: blocks.join("\n\n"), timestamp: 0 };
}
