// Both SDKs sign in by OAuth, refresh, and ask again after a disconnection. The Python test beside this folder plays
// the owner's browser and moves time: each question is one line of JSON to it, and so is its answer.

import { createInterface } from "node:readline";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

async function tell(what) {
  process.stdout.write(`${JSON.stringify(what)}\n`);
  return JSON.parse((await lines.next()).value);
}

const [sdk, url, redirectUrl, era, content] = process.argv.slice(2);

/** What a host keeps: enough for both SDKs. */
class Provider {
  redirectUrl = redirectUrl;
  clientMetadata = {
    client_name: "TypeScript host",
    redirect_uris: [this.redirectUrl],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
  asked = 0;
  refreshTokens = [];
  state() {
    return "a state of the host's";
  }
  clientInformation() {
    return this.client;
  }
  saveClientInformation(client) {
    this.client = client;
  }
  tokens() {
    return this.saved;
  }
  saveTokens(tokens) {
    this.saved = tokens;
    this.refreshTokens.push(tokens.refresh_token);
  }
  // As hosts do: what the server no longer takes is forgotten, and the owner is asked anew.
  invalidateCredentials(scope) {
    if (scope === "all" || scope === "tokens") this.saved = undefined;
    if (scope === "all" || scope === "client") this.client = undefined;
  }
  codeVerifier() {
    return this.verifier;
  }
  saveCodeVerifier(verifier) {
    this.verifier = verifier;
  }
  async redirectToAuthorization(url) {
    this.asked += 1;
    this.returned = new URLSearchParams((await tell({ ask: url.href })).returned);
  }
}

const { Client } = await import(
  sdk === "sdk1" ? "@modelcontextprotocol/sdk/client/index.js" : "@modelcontextprotocol/client"
);
const { StreamableHTTPClientTransport } = await import(
  sdk === "sdk1" ? "@modelcontextprotocol/sdk/client/streamableHttp.js" : "@modelcontextprotocol/client"
);
const negotiation = {
  probed: { versionNegotiation: { mode: "auto" } },
  pinned: { versionNegotiation: { mode: { pin: "2026-07-28" } } },
}[era];
const provider = new Provider();

function connection(provider) {
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
  return { client: new Client({ name: "flows", version: "1" }, negotiation), transport };
}

/** Connect as a host does: where the owner was asked, redeem what the browser brought back, and connect anew. */
async function connect() {
  const first = connection(provider);
  try {
    await first.client.connect(first.transport);
    return first.client;
  } catch (error) {
    if (provider.returned === undefined) throw error;
    const returned = provider.returned;
    provider.returned = undefined;
    await first.transport.finishAuth(sdk === "sdk1" ? returned.get("code") : returned);
    const second = connection(provider);
    await second.client.connect(second.transport);
    return second.client;
  }
}

async function project(client) {
  const listed = await client.callTool({ name: "memory_list_projects", arguments: {} });
  return listed.structuredContent.projects[0].id;
}

/** A second process of the same host, which read the store before the first one wrote it again. */
async function twin() {
  const copy = Object.assign(new Provider(), { client: provider.client, saved: provider.saved });
  const { client, transport } = connection(copy);
  await client.connect(transport);
  return { client, provider: copy };
}

let client = await connect();
const seen = { first: await project(client) };
const note = { project_id: seen.first, content };
seen.written = (await client.callTool({ name: "memory_write", arguments: note })).structuredContent.note.content;
const page = await client.callTool({ name: "memory_read", arguments: { project_id: seen.first } });
seen.read = page.structuredContent.notes.map((note) => note.content);
await tell({ expire: true });
seen.refreshed = await project(client);
await client.close();
client = await connect();
await tell({ expire: true });
seen.refreshedAfterReconnecting = await project(client);
await client.close();

const twins = await Promise.all([twin(), twin()]);
seen.together = [];
for (let hour = 0; hour < 3; hour += 1) {
  await tell({ expire: true });
  seen.together.push(await Promise.all(twins.map(({ client }) => project(client))));
}
seen.twinsRefreshed = twins.every(({ provider }) => new Set(provider.refreshTokens).size >= 3);
await Promise.all(twins.map(({ client }) => client.close()));
seen.askedSoFar = provider.asked + twins.reduce((sum, { provider }) => sum + provider.asked, 0);

await tell({ disconnect: true });
client = await connect();
seen.afterDisconnection = await project(client);
await client.close();
seen.asked = provider.asked;
seen.differentRefreshTokens = new Set(provider.refreshTokens).size;
process.stdout.write(`${JSON.stringify({ seen })}\n`);
process.exit(0);
