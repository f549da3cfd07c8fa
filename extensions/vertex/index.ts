import type { ExtensionAPI, ProviderOptions } from "@bonsai-agent/extension";
import { geminiModels, vertexModels } from "./src/gemini-models.ts";
import { missingForVertex } from "./src/google-settings.ts";

type Stream = NonNullable<ProviderOptions["stream"]>;

/**
 * Gemini models: of Google Vertex AI as `vertex/ID`, of the Gemini API as `gemini/ID`. The Google Gen AI SDK is loaded at the
 * first request.
 */
export default function vertex(bonsai: ExtensionAPI): void {
  let loading: Promise<typeof import("./src/gemini-stream.ts")> | undefined;
  const streamBy = (service: "vertex" | "gemini"): Stream =>
    async function* (request, answer) {
      loading ??= import("./src/gemini-stream.ts");
      const { geminiStream } = await loading;
      yield* geminiStream(service, request, answer);
    };
  bonsai.registerProvider("vertex", {
    name: "Google Vertex AI",
    missing: missingForVertex(process.env),
    models: vertexModels(),
    stream: streamBy("vertex"),
  });
  bonsai.registerProvider("gemini", {
    name: "Gemini API",
    apiKey: "$GEMINI_API_KEY",
    models: geminiModels(),
    stream: streamBy("gemini"),
  });
}
