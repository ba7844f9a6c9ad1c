// Who signs out leaves nothing behind in this browser: no draft in this tab, and no page to go back to.
'use strict'

const LEFT = 'left'

function forget () {
  sessionStorage.clear()
  localStorage.setItem(LEFT, String(Date.now()))
}

document.addEventListener('submit', event => { if (event.target.dataset.forgets !== undefined) forget() })
if (document.querySelector('[data-left]')) forget()

// A page that the browser kept whole from before is shown to nobody, and asked for anew.
window.addEventListener('pageshow', event => {
  if (!event.persisted || performance.timeOrigin > Number(localStorage.getItem(LEFT))) return
  document.documentElement.hidden = true
  location.reload()
})
