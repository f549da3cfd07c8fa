import type { ProviderStreamRequest } from "@bonsai-agent/extension";
import { type ProviderTurn, providerTurns, type ResultPart } from "@bonsai-agent/extension/providers";
import type { Content, FunctionDeclaration, GenerateContentParameters, Part } from "@google/genai";
import { generationOf } from "./gemini-models.ts";
import { geminiThinking } from "./gemini-thinking.ts";

/** The request for `generateContentStream`. Pure; its beginning is the same from turn to turn, for the cache. */
export function geminiRequest(request: ProviderStreamRequest): GenerateContentParameters {
  const { model, systemPrompt, tools, maxOutputTokens, thinking = "off" } = request;
  return {
    model: model.id,
    contents: geminiContents(request),
    config: {
      ...(systemPrompt.trim() !== "" && { systemInstruction: systemPrompt }),
      ...(maxOutputTokens !== undefined && { maxOutputTokens }),
      ...(tools.length > 0 && { tools: [{ functionDeclarations: tools.map(declaration) }] }),
      ...geminiThinking(model, thinking, maxOutputTokens),
    },
  };
}

function declaration({
  name,
  description,
  parameters,
}: ProviderStreamRequest["tools"][number]): FunctionDeclaration {
  return { name, description, parametersJsonSchema: withoutConst({ ...parameters }) };
}

/** Schemas whose keys are names of properties, not words of the schema. */
const NAME_MAPS: ReadonlySet<string> = new Set(["properties", "patternProperties", "$defs", "definitions"]);
/** Keywords with a value instead of a schema. */
const VALUES: ReadonlySet<string> = new Set(["enum", "default", "examples", "required"]);

/** Gemini's schemas have no `const`, so it becomes a list of one. */
function withoutConst(schema: unknown, areNames = false): unknown {
  if (Array.isArray(schema)) return schema.map((each) => withoutConst(each));
  if (typeof schema !== "object" || schema === null) return schema;
  const entries = Object.entries(schema).map(([key, value]): [string, unknown] => {
    if (areNames) return [key, withoutConst(value)];
    if (key === "const") return ["enum", [value]];
    return [key, VALUES.has(key) ? value : withoutConst(value, NAME_MAPS.has(key))];
  });
  return Object.fromEntries(entries);
}

function geminiContents({ messages, model }: ProviderStreamRequest): Content[] {
  const generation = generationOf(model.id);
  return providerTurns(messages, model).flatMap((turn) => {
    const parts =
      turn.role === "user" ? userParts(turn.content, generation) : modelParts(turn.content, generation);
    return parts.length === 0 ? [] : [{ role: turn.role === "user" ? "user" : "model", parts }];
  });
}

type UserPart = Extract<ProviderTurn, { role: "user" }>["content"][number];
type AnswerPart = Extract<ProviderTurn, { role: "assistant" }>["content"][number];

/** Gemini 3 accepts images in results; older models get them after the results of the batch. */
function userParts(content: readonly UserPart[], generation: number): Part[] {
  const results = content.filter((part) => part.type === "result");
  const images = generation >= 3 ? [] : results.flatMap(imagesOf);
  return [
    ...results.map((result) => resultPart(result, generation)),
    ...(images.length > 0 ? [{ text: "The images of the tool results above:" }, ...images] : []),
    ...content.flatMap((part) => (part.type === "result" ? [] : [saidPart(part)])),
  ];
}

function saidPart(part: Exclude<UserPart, ResultPart>): Part {
  return part.type === "text"
    ? { text: part.text }
    : { inlineData: { mimeType: part.mimeType, data: part.data } };
}

function imagesOf({ content }: ResultPart): Part[] {
  return content.filter(({ type }) => type === "image").map(saidPart);
}

function resultPart(result: ResultPart, generation: number): Part {
  const { callId, toolName, content, isError } = result;
  const text = content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  const images = imagesOf(result);
  const said = text || (images.length > 0 ? "(an image)" : "(no output)");
  return {
    functionResponse: {
      ...(hasCallIds(generation) && { id: callId }),
      name: toolName,
      response: isError ? { error: said } : { output: said },
      ...(generation >= 3 && images.length > 0 && { parts: images }),
    },
  };
}

/** Earlier models refuse the field. */
function hasCallIds(generation: number): boolean {
  return generation >= 3;
}

/** Google's placeholder for the signature of another model's call. */
const FOREIGN_SIGNATURE = "skip_thought_signature_validator";

/** Gemini 3 refuses the first call of a batch without a signature. */
function modelParts(content: readonly AnswerPart[], generation: number): Part[] {
  const calls = content.filter((part) => part.type === "toolCall");
  const isSigned = calls.some(({ thoughtSignature }) => thoughtSignature !== undefined);
  return content.flatMap((part): Part[] => {
    switch (part.type) {
      case "text":
        return [{ text: part.text, ...signed(part.textSignature) }];
      case "thinking":
        return thoughtParts(part);
      default: {
        const stand = !isSigned && generation >= 3 && part === calls[0] ? FOREIGN_SIGNATURE : undefined;
        const { id, name, arguments: args } = part;
        const functionCall = { ...(hasCallIds(generation) && { id }), name, args };
        return [{ functionCall, ...signed(part.thoughtSignature ?? stand) }];
      }
    }
  });
}

function thoughtParts({
  thinking = "",
  thinkingSignature,
}: Extract<AnswerPart, { type: "thinking" }>): Part[] {
  if (thinking.trim() === "" && thinkingSignature === undefined) return [];
  return [{ thought: true, text: thinking, ...signed(thinkingSignature) }];
}

function signed(thoughtSignature: string | undefined): Pick<Part, "thoughtSignature"> {
  return thoughtSignature === undefined ? {} : { thoughtSignature };
}
