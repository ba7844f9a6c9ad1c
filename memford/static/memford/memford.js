// What the workspace's pages do beyond links and forms. Everything works without it; nothing here decides anything.
'use strict'

// Times are printed in the browser's zone from the next page on.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
if (zone) document.cookie = 'timezone=' + zone + '; path=/; max-age=31536000; samesite=lax' + (location.protocol === 'https:' ? '; secure' : '')

const DRAFT = 'draft:'
const LOOK_SECONDS = 2
const SAID = {
  401: 'You are signed out. Sign in in another tab, then send this again: what you typed is still here.',
  403: 'This page is too old to be sent. Open it in another tab, then send this again: what you typed is still here.',
  503: 'Memford cannot reach its database. Wait a moment, then send this again: what you typed is still here.',
  0: 'Memford cannot be reached. Send this again when you are connected: what you typed is still here.'
}

function isOurs (target) { return target instanceof Element }

// Drafts: what is typed is kept in this tab until it was stored, so that a reload or a crash costs nothing.
function draftKey (form) { return DRAFT + form.dataset.draft }

function typed (form) {
  const fields = {}
  for (const field of form.elements) if (field.name && field.dataset.kept !== undefined) fields[field.name] = field.value
  return fields
}

function restoreDraft (form) {
  if (form.dataset.restored) return
  form.dataset.restored = 'yes'
  // What the server shows again was sent a moment ago, and is newer than any draft.
  if (form.dataset.shownAgain !== undefined) { sessionStorage.setItem(draftKey(form), JSON.stringify(typed(form))); return }
  const kept = JSON.parse(sessionStorage.getItem(draftKey(form)) || 'null')
  if (!kept) return
  const now = typed(form)
  if (Object.keys(kept).every(name => kept[name] === now[name])) return
  for (const [name, value] of Object.entries(kept)) if (form.elements[name]) form.elements[name].value = value
  const note = say(form, 'What you typed here before is back. ')
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'link'
  button.textContent = 'Discard it'
  button.addEventListener('click', () => {
    for (const [name, value] of Object.entries(now)) if (form.elements[name]) form.elements[name].value = value
    sessionStorage.removeItem(draftKey(form))
    note.remove()
  })
  note.append(button)
}

function say (form, text) {
  form.querySelector('.notice')?.remove()
  const note = document.createElement('p')
  note.className = 'notice'
  note.setAttribute('role', 'alert')
  note.textContent = text
  form.prepend(note)
  return note
}

document.addEventListener('input', event => {
  const form = event.target.form
  if (form?.dataset.draft) sessionStorage.setItem(draftKey(form), JSON.stringify(typed(form)))
})

// Ctrl-Enter sends what is being written.
document.addEventListener('keydown', event => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && event.target.matches('textarea')) event.target.form.requestSubmit()
  if (event.key === 'Escape') document.querySelectorAll('.ask[open]').forEach(ask => { ask.open = false; ask.firstElementChild.focus() })
})

// Who cancels gives the draft up.
document.addEventListener('click', event => {
  const way = isOurs(event.target) ? event.target.closest('[data-drops-draft]') : null
  if (way) sessionStorage.removeItem(DRAFT + way.dataset.dropsDraft)
})

// Copying.
document.addEventListener('click', async event => {
  const button = isOurs(event.target) ? event.target.closest('[data-copy]') : null
  if (!button) return
  const source = document.querySelector(button.dataset.copy)
  const label = button.innerHTML
  try {
    await navigator.clipboard.writeText(source.value ?? source.textContent)
    button.textContent = 'Copied'
  } catch {
    getSelection().selectAllChildren(source)
    button.textContent = 'Selected'
  }
  setTimeout(() => { button.innerHTML = label }, 1500)
})

// What is shown once is not there again for whoever comes back to the page.
window.addEventListener('pagehide', () => { for (const part of document.querySelectorAll('[data-once]')) part.remove() })

// Relative times grow older while one looks.
const STEPS = [['year', 31536000], ['month', 2592000], ['week', 604800], ['day', 86400], ['hour', 3600], ['minute', 60], ['second', 1]]
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

function age (root) {
  for (const time of root.querySelectorAll('time[data-ago]')) {
    const seconds = (Date.parse(time.dateTime) - Date.now()) / 1000
    const [unit, size] = STEPS.find(([, each]) => Math.abs(seconds) >= each) || STEPS.at(-1)
    time.textContent = Math.abs(seconds) < 5 ? 'just now' : relative.format(Math.round(seconds / size), unit)
  }
}
setInterval(() => { if (document.visibilityState === 'visible') age(document) }, 15000)

function prepare (root) {
  for (const control of root.querySelectorAll('[data-copy][hidden], [data-needs-script][hidden]')) control.hidden = false
  for (const control of root.querySelectorAll('[data-without-script]')) control.hidden = true
  for (const form of root.querySelectorAll('form[data-draft]')) restoreDraft(form)
  age(root)
}
prepare(document)

// Live parts ask again while somebody looks: an element with data-live is asked for by its own hx-get.
setInterval(() => {
  if (document.visibilityState === 'visible') for (const part of document.querySelectorAll('[data-live]')) htmx.trigger(part, 'look')
}, LOOK_SECONDS * 1000)

document.addEventListener('htmx:load', event => prepare(event.detail.elt))

document.addEventListener('htmx:configRequest', event => {
  // After signing in in another tab the token of this page is the former one.
  const token = document.cookie.match(/(?:^|; )csrftoken=([^;]+)/)
  if (token && event.detail.parameters.csrfmiddlewaretoken) event.detail.parameters.csrfmiddlewaretoken = token[1]
})

document.addEventListener('htmx:beforeSwap', event => {
  if (!event.detail.elt.matches('[data-live]')) return
  // Of what changed, only what is on this page is shown, and nothing that somebody edits just now is taken away.
  const part = document.createElement('template')
  part.innerHTML = event.detail.serverResponse
  for (const change of part.content.querySelectorAll('[hx-swap-oob]')) {
    const where = change.getAttribute('hx-swap-oob').split(':')[1]
    const target = where ? document.querySelector(where) : document.getElementById(change.id)
    if (!target || (!where && target.querySelector('textarea, .ask[open]'))) change.remove()
  }
  event.detail.serverResponse = part.innerHTML
})

document.addEventListener('htmx:afterRequest', event => {
  const form = event.detail.elt.closest('form[data-draft]')
  if (form && event.detail.xhr.status && event.detail.xhr.status < 400 && event.detail.requestConfig.verb === 'post') sessionStorage.removeItem(draftKey(form))
})

function failed (event) {
  const part = event.detail.elt
  if (part.matches('[data-live]')) {
    // Who is signed out hears nothing more; whoever is only cut off asks again.
    if (event.detail.xhr.status === 401) part.removeAttribute('data-live')
    return
  }
  const form = part.closest('form')
  const words = SAID[event.detail.xhr.status] || SAID[event.detail.xhr.status >= 500 ? 503 : 0]
  if (form && event.detail.requestConfig.verb === 'post') say(form, words)
  else if (event.detail.xhr.status) location.assign(event.detail.pathInfo.requestPath)
}
for (const name of ['htmx:responseError', 'htmx:sendError', 'htmx:timeout']) document.addEventListener(name, failed)
