import type { ImageContent, Message } from "@bonsai-agent/messages";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import type { ProviderCall, ProviderErrorOptions } from "../src/provider.ts";
import { model, refuses, type Step, says, stage, types } from "./staged-client.ts";

const image = (data: string): ImageContent => ({ type: "image", data, mimeType: "image/png" });
const shown = (...images: ImageContent[]): Message => ({
  role: "user",
  content: [{ type: "text", text: "Look." }, ...images],
  timestamp: 0,
});
const said: Message = {
  role: "assistant",
  content: [{ type: "text", text: "Seen." }],
  api: model.api,
  provider: model.provider,
  model: model.id,
  stopReason: "stop",
  timestamp: 0,
  usage: {
    input: 0,
    output: 0,
    cacheRead: 0,
    cacheWrite: 0,
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
  },
};

function imagesIn({ messages }: ProviderCall): string[] {
  return [...JSON.stringify(messages).matchAll(/"data":"(\w+)"/g)].map(([, data]) => data!);
}

const refusals: [words: string, options: Partial<ProviderErrorOptions>][] = [
  ["Could not process image", {}],
  ["messages.2.content.1.image.source.base64: image exceeds 5 MB maximum: 7340032 bytes > 5242880 bytes", {}],
  [
    "messages.0.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels",
    {},
  ],
  [
    "messages.0.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels",
    {},
  ],
  ["Invalid image.", { code: "invalid_image" }],
  ["You uploaded an unsupported image. Please make sure your image is valid.", { code: "image_parse_error" }],
  [
    "The image data you provided does not represent a valid image. Please check your input and try again with one of the supported image formats: ['image/jpeg', 'image/png', 'image/gif', 'image/webp'].",
    {},
  ],
  [
    "Invalid 'input[3].content[1].image_url'. Expected a base64-encoded data URL with an image MIME type, but got unsupported MIME type 'image/bmp'.",
    {},
  ],
  [
    "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
    { status: 500 },
  ],
  ["Failed to load image or audio file", { status: 400 }],
  ["failed to process image", { status: 500 }],
  ["No endpoints found that support image input", { status: 404 }],
  ["this model does not support vision", { status: 422 }],
  ["Unsupported media type", { status: 415 }],
  ["unknown variant `image_url`, expected `text`", {}],
  ["messages[1].content must be a string", {}],
  ["Invalid request", {}],
  ["Bad Request", { status: 422 }],
  ["图片格式不支持", {}],
  ["Unable to decode the picture", { status: undefined, isInStream: true }],
];

describe("a refused image", () => {
  test("is omitted after a refusal, and the request is sent again once", () =>
    everyRow(refusals)(async ([words, options]) => {
      const { calls, ask, notices } = stage([refuses(words, options), says("Fine.")]);
      const told: unknown[] = [];
      const messages = [shown(image("old")), said, shown(image("new"))];
      const final = await ask({ messages, onRefusedImages: (images, line) => told.push([images, line]) });
      expect(final).toMatchObject({ type: "done" });
      expect(calls.map(imagesIn)).toEqual([["old", "new"], ["old"]]);
      expect(types(notices)).toEqual(["image_refused"]);
      expect(notices[0]).toMatchObject({
        count: 1,
        provider: "lab",
        reason: expect.stringContaining(words.slice(0, 20)),
      });
      expect(told).toEqual([[[image("new")], expect.stringContaining(`refused it: ${words.slice(0, 20)}`)]]);
      await ask({ messages });
      expect(imagesIn(calls[2]!)).toEqual(["old"]);
    }));

  test("is omitted alone if its fault is visible", async () => {
    const cut = image(Buffer.from("\x89PNG\r\n\x1a\n", "latin1").toString("base64").replace(/=+$/, ""));
    const { calls, ask } = stage([refuses("Could not process image"), says("Fine.")]);
    await ask({ messages: [shown(image("one"), cut)] });
    expect(imagesIn(calls[1]!)).toEqual(["one"]);
  });

  test("is omitted alone if the refusal names its place", () =>
    everyRow([
      "messages.0.content.2.image.source.base64.data: Could not process image",
      "Invalid 'messages[0].content[2].image_url'.",
      "messages.[0].content.[2].source: unknown format",
    ])(async (words) => {
      const refusesPlace: Step = async function* (call, answer) {
        await call.onPayload({ messages: call.messages });
        yield* refuses(words)(call, answer);
      };
      const { calls, ask } = stage([refusesPlace, says("Fine.")]);
      const messages = [shown(image("one"), image("two"), image("three"))];
      expect((await ask({ messages })).type).toBe("done");
      expect(calls.map(imagesIn)).toEqual([
        ["one", "two", "three"],
        ["one", "three"],
      ]);
    }));

  test("is omitted with the earlier images if a second refusal names images", async () => {
    const many = refuses("Too many images");
    const { calls, ask } = stage([many, many, says("Fine.")]);
    expect((await ask({ messages: [shown(image("old")), said, shown(image("new"))] })).type).toBe("done");
    expect(calls.map(imagesIn)).toEqual([["old", "new"], ["old"], []]);
  });

  test("stays if the request without it is refused too", async () => {
    const { calls, ask, notices } = stage([refuses("Invalid request")]);
    const messages = [shown(image("new"))];
    expect(await ask({ messages })).toMatchObject({ failure: { message: "Invalid request" } });
    expect(calls.map(imagesIn)).toEqual([["new"], []]);
    expect(notices).toEqual([]);
    await ask({ messages });
    expect(imagesIn(calls[2]!)).toEqual(["new"]);
  });
});

test("stays after a refusal for another reason", () =>
  everyRow<[string, Partial<ProviderErrorOptions>]>([
    ["Invalid API key", { status: 401 }],
    ["Too many requests", { status: 429 }],
    ["Overloaded", { status: 529 }],
    ["prompt is too long: 213462 tokens > 200000 maximum", {}],
  ])(async ([words, options]) => {
    const { calls, ask } = stage([refuses(words, options)], { retry: { maxRetries: 0 } });
    await ask({ messages: [shown(image("new"))] });
    expect(calls.map(imagesIn)).toEqual([["new"]]);
  }));

test("a refusal that does not mention images keeps accepted images", async () => {
  const { calls, ask } = stage([refuses("tools.0: invalid schema")]);
  await ask({ messages: [shown(image("old")), said, { role: "user", content: "More", timestamp: 0 }] });
  expect(calls).toHaveLength(1);
});
