// The official JavaScript client against the address that is given; prints what it got as JSON.
import OpenAI from "openai";

const [url, key] = process.argv.slice(2);
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 2 });
const ask = (content, more = {}, options = {}) =>
  client.chat.completions.create({ model: "tiny", messages: [{ role: "user", content }], ...more }, options);
const tools = [{ type: "function", function: { name: "refund", parameters: { type: "object", properties: {} } } }];
const found = {};

const plain = await ask("Is it safe?");
found.plain = plain.choices[0].message.content;
found.verdict = plain.likewise.runs_agreed;
const raw = await ask("Is it safe?").withResponse();
found.header = raw.response.headers.get("x-likewise-decision");

found.stream = "";
for await (const chunk of await ask("Is it safe?", { stream: true })) {
  found.stream += chunk.choices[0]?.delta?.content ?? "";
}
const helper = client.chat.completions.stream({ model: "tiny", messages: [{ role: "user", content: "Is it safe?" }] });
found.helper = await helper.finalContent();

const called = await ask("Refund it", { tools });
found.calls = called.choices[0].message.tool_calls.map((call) => [call.function.name, call.function.arguments]);

const failing = async (work) => {
  try {
    await work();
    return "no error";
  } catch (problem) {
    return [problem.constructor.name, problem.status ?? null, problem.code ?? null];
  }
};
found.refused = await failing(() => ask("Contradict yourself"));
found.error = await failing(() => ask("Fail"));
found.timeout = await failing(() => ask("Wait", {}, { timeout: 500, maxRetries: 0 }));
const abort = new AbortController();
setTimeout(() => abort.abort(), 500);
found.cancelled = await failing(() => ask("Wait", {}, { signal: abort.signal }));
console.log(JSON.stringify(found));
