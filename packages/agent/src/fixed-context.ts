import type { ToolDeclaration } from "@bonsai-agent/models";

/** What stands before the messages of every request, in the texts that count. */
export interface FixedContext {
  /** The system prompt without the instructions. */
  readonly prompt: string;
  /** The files of instructions in it, each in its frame. */
  readonly instructions: readonly string[];
  /** The tools that the model is offered, as JSON. */
  readonly tools: readonly string[];
}

/** As the prompt frames each file of instructions; a file cannot end its own frame. */
const instructionFrame = /<instructions path="[^\n]*">\n[\s\S]*?\n<\/instructions>/g;

/** Divides a system prompt, and takes the tools to it. */
export function fixedContext({
  systemPrompt,
  tools,
}: {
  systemPrompt: string;
  tools: readonly ToolDeclaration[];
}): FixedContext {
  return {
    prompt: systemPrompt.replaceAll(instructionFrame, "").trim(),
    instructions: systemPrompt.match(instructionFrame) ?? [],
    tools: tools.map((tool) => JSON.stringify(tool)),
  };
}

/** The same as one list, which is another one only once something of it has changed. */
export function fixedTexts(
  current: () => { systemPrompt: string; tools: readonly ToolDeclaration[] },
): () => readonly string[] {
  let known:
    | { systemPrompt: string; tools: readonly ToolDeclaration[]; texts: readonly string[] }
    | undefined;
  return () => {
    const { systemPrompt, tools } = current();
    const isKnown =
      known?.systemPrompt === systemPrompt &&
      known.tools.length === tools.length &&
      known.tools.every((tool, at) => tool === tools[at]);
    if (known === undefined || !isKnown) {
      const { prompt, instructions, tools: declared } = fixedContext({ systemPrompt, tools });
      known = { systemPrompt, tools, texts: [prompt, ...instructions, ...declared] };
    }
    return known.texts;
  };
}
