import type { ExtensionAPI } from "@bonsai-agent/extension";
import { credentialsOf } from "./src/aws-settings.ts";
import { bedrockModels } from "./src/bedrock-models.ts";

/** Models of Amazon Bedrock, as `bedrock/ID`. The AWS SDK is loaded at the first request. */
export default function bedrock(bonsai: ExtensionAPI): void {
  const { apiKey, missing } = credentialsOf(process.env);
  let loading: Promise<typeof import("./src/converse-stream.ts")> | undefined;
  bonsai.registerProvider("bedrock", {
    name: "Amazon Bedrock",
    apiKey,
    missing,
    models: bedrockModels(process.env.AWS_REGION ?? process.env.AWS_DEFAULT_REGION),
    async *stream(request, answer) {
      loading ??= import("./src/converse-stream.ts");
      const { converseStream } = await loading;
      yield* converseStream(request, answer);
    },
  });
}
